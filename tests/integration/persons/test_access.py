"""Who may call the persons service."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from canopy.errors.v1.reason_pb2 import Reason
from canopy.persons.v1 import finalize_service_pb2 as finalize_pb
from canopy.persons.v1 import households_service_pb2 as households_pb
from canopy.persons.v1 import persons_service_pb2 as persons_pb
from canopy.persons.v1 import steward_service_pb2 as steward_pb
from canopy.persons.v1.finalize_service_pb2_grpc import FinalizeServiceStub
from canopy.persons.v1.households_service_pb2_grpc import HouseholdsServiceStub
from canopy.persons.v1.persons_service_pb2_grpc import PersonsServiceStub
from canopy.persons.v1.steward_service_pb2_grpc import StewardServiceStub
from services.chassis.service import Running
from services.cli.stack.valkey import ValkeyServer
from services.persons import main
from tests import persons as build
from tests.mesh import NO_ROLE, STEWARD, Mesh, refused
from tests.persons import persons_config

SOMEBODY = str(uuid.uuid4())
GENERATION = finalize_pb.Generation(operation_id=SOMEBODY, generation=1, digest=build.DIGEST)
FINALIZE = {
    "RegisterOperation": finalize_pb.RegisterOperationRequest(generation=GENERATION, basis_date=build.BASIS),
    "ApplyFinalizeStep": finalize_pb.ApplyFinalizeStepRequest(generation=GENERATION, step=build.person_step()),
    "ApplyFinalizeSteps": finalize_pb.ApplyFinalizeStepsRequest(generation=GENERATION, steps=build.graph()),
    "ReleaseOperation": finalize_pb.ReleaseOperationRequest(generation=GENERATION, manifest=[build.person_step().key]),
    "CancelOperation": finalize_pb.CancelOperationRequest(operation_id=SOMEBODY, generation=1),
    "GetOperation": finalize_pb.GetOperationRequest(operation_id=SOMEBODY),
}


@pytest.fixture(scope="module")
async def served(mesh: Mesh, databases: Any, bus_valkey_server: ValkeyServer) -> AsyncIterator[Running]:
    """One service for all callers; none of them leaves anything."""
    fresh = await databases.create("outbox", "persons")
    async with mesh.serve(main.build, persons_config(mesh, fresh, bus_valkey_server)) as running:
        yield running


def test_every_finalize_method_is_tried() -> None:
    """MSH-05: a method that is added to the service is added here."""
    service = finalize_pb.DESCRIPTOR.services_by_name["FinalizeService"]

    assert {method.name for method in service.methods} == set(FINALIZE)


@pytest.mark.parametrize("method", FINALIZE)
@pytest.mark.parametrize(
    "caller", ["canopy-portal", "canopy-reporting", "canopy-persons", "canopy-test", STEWARD, NO_ROLE]
)
async def test_finalize_admits_the_applications_service_alone(
    mesh: Mesh, served: Running, caller: str, method: str
) -> None:
    """MSH-05: other services, people and clients without a role are refused on every finalize method."""
    async with mesh.dial(served, main.NAME, caller=caller) as channel:
        with refused(Reason.REASON_CALLER_NOT_ALLOWED):
            await getattr(FinalizeServiceStub(channel), method)(FINALIZE[method])


@pytest.mark.parametrize("method", FINALIZE)
@pytest.mark.parametrize(
    "claims",
    [
        {"sub": build.APPLICATIONS, "azp": build.APPLICATIONS, "service": None, "roles": []},
        {"sub": build.APPLICATIONS, "azp": build.APPLICATIONS, "service": None, "roles": ["data_steward"]},
        {"sub": build.APPLICATIONS, "azp": build.APPLICATIONS, "service": build.APPLICATIONS, "roles": []},
    ],
    ids=["azp only", "azp and another role", "service without the role"],
)
async def test_an_id_without_the_role_of_a_service_is_refused(
    mesh: Mesh, served: Running, claims: dict[str, Any], method: str
) -> None:
    """MSH-04: an OAuth client whose id is the right one is no service: the role is asked for first."""
    token = mesh.issuer.mint(mesh.issuer.claims(main.NAME, **claims))

    with refused(Reason.REASON_CALLER_NOT_ALLOWED):
        await call(served, FinalizeServiceStub, method, FINALIZE[method], token)


async def call(served: Running, stub: Any, method: str, request: Any, token: str | None) -> Any:
    """Call as anyone who has a token, or as nobody."""
    metadata = [("authorization", f"Bearer {token}")] if token else []
    async with grpc.aio.insecure_channel(f"127.0.0.1:{served.port}") as channel:
        return await getattr(stub(channel), method)(request, metadata=metadata)


READ = {"person_ids": [SOMEBODY], "as_of": build.BASIS}


@pytest.mark.parametrize(
    ("stub", "method", "request_message"),
    [
        (PersonsServiceStub, "BatchGetPersons", persons_pb.BatchGetPersonsRequest(**READ)),
        (
            PersonsServiceStub,
            "CheckBirthDate",
            persons_pb.CheckBirthDateRequest(person_id=SOMEBODY, birth_date=build.BASIS, as_of=build.BASIS),
        ),
        (
            HouseholdsServiceStub,
            "BatchGetHouseholds",
            households_pb.BatchGetHouseholdsRequest(household_ids=[SOMEBODY], as_of=build.BASIS),
        ),
    ],
)
async def test_reads_are_for_the_services_that_the_contract_names(
    mesh: Mesh, served: Running, stub: Any, method: str, request_message: Any
) -> None:
    """MSH-03: the portal, people and nobody are refused; no human role opens personal data."""
    for caller in ("canopy-portal", STEWARD, NO_ROLE):
        async with mesh.dial(served, main.NAME, caller=caller) as channel:
            with refused(Reason.REASON_CALLER_NOT_ALLOWED):
                await getattr(stub(channel), method)(request_message)
    with refused(Reason.REASON_UNAUTHENTICATED):
        await call(served, stub, method, request_message, None)
    async with mesh.dial(served, main.NAME, caller=build.APPLICATIONS) as channel:
        assert await getattr(stub(channel), method)(request_message)


@pytest.mark.parametrize(
    ("caller", "stub", "method", "request_message"),
    [
        ("canopy-reporting", PersonsServiceStub, "ListPersons", persons_pb.ListPersonsRequest(as_of=build.BASIS)),
        (
            "canopy-reporting",
            HouseholdsServiceStub,
            "ListHouseholds",
            households_pb.ListHouseholdsRequest(as_of=build.BASIS),
        ),
        (STEWARD, StewardServiceStub, "ListQuarantine", steward_pb.ListQuarantineRequest()),
        (
            STEWARD,
            StewardServiceStub,
            "RemediateOrphans",
            steward_pb.RemediateOrphansRequest(recorded_before=Timestamp(seconds=1), reason="audit"),
        ),
    ],
)
async def test_what_is_not_served_yet_says_so(
    mesh: Mesh, served: Running, caller: str, stub: Any, method: str, request_message: Any
) -> None:
    """MSH-08: a method of the contract that this release lacks answers so, and to those who may call it only."""
    async with mesh.dial(served, main.NAME, caller=caller) as channel:
        with refused(Reason.REASON_NOT_IMPLEMENTED):
            await getattr(stub(channel), method)(request_message)
    async with mesh.dial(served, main.NAME, caller="canopy-portal") as channel:
        with refused(Reason.REASON_CALLER_NOT_ALLOWED):
            await getattr(stub(channel), method)(request_message)
