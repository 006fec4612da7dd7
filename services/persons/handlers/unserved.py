"""Methods that the contract has and this release does not serve."""

from __future__ import annotations

from typing import Any, NoReturn

from canopy.errors.v1.reason_pb2 import Reason
from canopy.persons.v1.steward_service_pb2_grpc import StewardServiceServicer
from services.kernel.errors import Refusal


async def unserved(self: object, request: Any, context: Any) -> NoReturn:  # noqa: ARG001 - the shape of a method
    """Refuse. Stands in for a method: `ListPersons = unserved`."""
    raise Refusal(Reason.REASON_NOT_IMPLEMENTED)


class StewardHandler(StewardServiceServicer):
    """StewardService: its methods come with the undoing of attempts."""

    ListQuarantine = unserved
    ResolveQuarantine = unserved
    RemediateOrphans = unserved
    ResolveBlockedRelease = unserved
