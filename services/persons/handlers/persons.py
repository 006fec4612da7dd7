"""PersonsService: people, read as they stood on a day."""

from __future__ import annotations

import uuid
from typing import Any, Final

from canopy.persons.v1 import persons_service_pb2 as pb
from canopy.persons.v1.persons_service_pb2_grpc import PersonsServiceServicer
from services.kernel.dates import parse_date
from services.persons.domain.lookups import Lookups
from services.persons.handlers import convert
from services.persons.handlers.unserved import unserved


class PersonsHandler(PersonsServiceServicer):
    """Serves PersonsService."""

    ListPersons = unserved
    CorrectPerson = unserved
    CorrectIncome = unserved
    EndIncome = unserved

    def __init__(self, lookups: Lookups) -> None:
        self._lookups: Final = lookups

    async def BatchGetPersons(self, request: pb.BatchGetPersonsRequest, context: Any) -> pb.BatchGetPersonsResponse:
        """Look people up."""
        known_at = convert.instant(request.known_at) if request.HasField("known_at") else None
        answers, instant = await self._lookups.persons(
            convert.ids(request.person_ids), parse_date(request.as_of), known_at
        )
        return pb.BatchGetPersonsResponse(
            entries=[convert.person_entry(answer) for answer in answers], known_at=convert.timestamp(instant)
        )

    async def CheckBirthDate(self, request: pb.CheckBirthDateRequest, context: Any) -> pb.CheckBirthDateResponse:
        """Compare a date of birth with the record, without telling the record."""
        matches = await self._lookups.was_born_on(
            uuid.UUID(request.person_id), parse_date(request.birth_date), parse_date(request.as_of)
        )
        return pb.CheckBirthDateResponse(matches=matches)
