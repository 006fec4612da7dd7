"""HouseholdsService: households with their members and incomes, read as they stood on a day."""

from __future__ import annotations

from typing import Any, Final

from canopy.persons.v1 import households_service_pb2 as pb
from canopy.persons.v1.households_service_pb2_grpc import HouseholdsServiceServicer
from services.kernel.dates import parse_date
from services.persons.domain.lookups import Lookups
from services.persons.handlers import convert
from services.persons.handlers.unserved import unserved


class HouseholdsHandler(HouseholdsServiceServicer):
    """Serves HouseholdsService."""

    ListHouseholds = unserved
    RecordHouseholds = unserved
    CorrectHousehold = unserved
    CorrectMember = unserved
    EndMember = unserved

    def __init__(self, lookups: Lookups) -> None:
        self._lookups: Final = lookups

    async def BatchGetHouseholds(
        self, request: pb.BatchGetHouseholdsRequest, context: Any
    ) -> pb.BatchGetHouseholdsResponse:
        """Look households up."""
        known_at = convert.instant(request.known_at) if request.HasField("known_at") else None
        answers, instant = await self._lookups.households(
            convert.ids(request.household_ids), parse_date(request.as_of), known_at
        )
        return pb.BatchGetHouseholdsResponse(
            entries=[convert.household_entry(answer) for answer in answers], known_at=convert.timestamp(instant)
        )
