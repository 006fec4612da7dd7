"""Reads by hand with the synchronous stubs, against grpcio-testing's channel (MSH-16, PER-03)."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import grpc
import grpc_testing
import pytest

from canopy.persons.v1 import households_service_pb2, persons_service_pb2
from canopy.persons.v1.version_pb2 import Absence
from services.cli import records

PERSONS = persons_service_pb2.DESCRIPTOR.services_by_name["PersonsService"]
HOUSEHOLDS = households_service_pb2.DESCRIPTOR.services_by_name["HouseholdsService"]
ID = "3f0c8a52-7d0e-4c54-9d0b-0c8f4c7c2b11"


@pytest.fixture
def channel() -> Any:
    """A channel on which the test plays the server."""
    return grpc_testing.channel([PERSONS, HOUSEHOLDS], grpc_testing.strict_real_time())


def asked(read: Callable[..., Any], channel: Any) -> Future[Any]:
    """Begin a read in another thread: the stubs block."""
    pool = ThreadPoolExecutor(1)
    future = pool.submit(read, channel, "a-token", [ID], "2026-12-01")
    pool.shutdown(wait=False)
    return future


@pytest.mark.parametrize(
    ("read", "method", "answer"),
    [
        (
            records.persons,
            PERSONS.methods_by_name["BatchGetPersons"],
            persons_service_pb2.BatchGetPersonsResponse(
                entries=[persons_service_pb2.PersonEntry(person_id=ID, absent=Absence.ABSENCE_UNKNOWN)]
            ),
        ),
        (
            records.households,
            HOUSEHOLDS.methods_by_name["BatchGetHouseholds"],
            households_service_pb2.BatchGetHouseholdsResponse(
                entries=[households_service_pb2.HouseholdEntry(household_id=ID, absent=Absence.ABSENCE_UNKNOWN)]
            ),
        ),
    ],
    ids=["persons", "households"],
)
def test_a_read_sends_the_day_and_the_token(channel: Any, read: Callable[..., Any], method: Any, answer: Any) -> None:
    """PER-03: a read by hand names its day, shows its token, and gives the entries as they came."""
    future = asked(read, channel)

    metadata, request, call = channel.take_unary_unary(method)
    call.terminate(answer, (), grpc.StatusCode.OK, "")

    assert ("authorization", "Bearer a-token") in metadata
    assert request.as_of == "2026-12-01"
    assert future.result(timeout=10) == list(answer.entries)


def test_a_refusal_reaches_the_caller(channel: Any) -> None:
    """PER-03: a refused read raises; nothing is made up."""
    future = asked(records.persons, channel)

    _, _, call = channel.take_unary_unary(PERSONS.methods_by_name["BatchGetPersons"])
    call.terminate(None, (), grpc.StatusCode.INVALID_ARGUMENT, "invalid field")

    with pytest.raises(grpc.RpcError):
        future.result(timeout=10)
