"""Reads of the persons service by hand, with the synchronous stubs: one call, one answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import grpc

from canopy.persons.v1.households_service_pb2 import BatchGetHouseholdsRequest, HouseholdEntry
from canopy.persons.v1.households_service_pb2_grpc import HouseholdsServiceStub
from canopy.persons.v1.persons_service_pb2 import BatchGetPersonsRequest, PersonEntry
from canopy.persons.v1.persons_service_pb2_grpc import PersonsServiceStub

TIMEOUT_SECONDS: Final = 30.0


def persons(channel: grpc.Channel, token: str, ids: Sequence[str], as_of: str) -> list[PersonEntry]:
    """Return one entry per id, in order, as of a day. Raises grpc.RpcError."""
    request = BatchGetPersonsRequest(person_ids=ids, as_of=as_of)
    answer = PersonsServiceStub(channel).BatchGetPersons(request, metadata=_bearer(token), timeout=TIMEOUT_SECONDS)
    return list(answer.entries)


def households(channel: grpc.Channel, token: str, ids: Sequence[str], as_of: str) -> list[HouseholdEntry]:
    """Return one entry per id, in order, as of a day. Raises grpc.RpcError."""
    request = BatchGetHouseholdsRequest(household_ids=ids, as_of=as_of)
    answer = HouseholdsServiceStub(channel).BatchGetHouseholds(
        request, metadata=_bearer(token), timeout=TIMEOUT_SECONDS
    )
    return list(answer.entries)


def _bearer(token: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token}"),)
