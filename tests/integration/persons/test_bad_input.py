"""Requests that break the contract: refused by field, before or without anything written."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
from google.protobuf.message import Message

from canopy.errors.v1.reason_pb2 import Reason
from canopy.persons.v1 import finalize_service_pb2 as finalize_pb
from canopy.persons.v1 import households_service_pb2 as households_pb
from canopy.persons.v1 import persons_service_pb2 as persons_pb
from canopy.persons.v1.household_pb2 import HouseholdDetails, NoFixedAddress, PersonRef
from canopy.persons.v1.income_pb2 import Frequency, IncomeDetails, IncomeKind
from canopy.persons.v1.person_pb2 import PersonName
from canopy.persons.v1.step_pb2 import MemberStep, PersonStep, Step, StepKey, StepKind
from services.chassis.postgres import Database
from services.cli.stack.valkey import ValkeyServer
from services.kernel import step_key
from services.kernel.errors import ClientError
from tests import persons as build
from tests.mesh import Mesh
from tests.persons import Filing, RunningPersons, persons_config, running
from tests.postgres import PostgresDatabases

INVALID, UNKNOWN = Reason.REASON_INVALID_FIELD, Reason.REASON_UNKNOWN_FIELD
SOMEBODY, CANARY = str(uuid.uuid4()), "Canaryane"
HOURLY = IncomeDetails(kind=IncomeKind.INCOME_KIND_WAGES, frequency=Frequency.FREQUENCY_HOURLY)  # without hours
UNKNOWN_FIELD = b"\x92\x3f\x01x"  # number 1010, of a later contract


def foreign(message: Message) -> Any:
    """Add a field that this contract does not know."""
    copy = type(message)()
    copy.ParseFromString(message.SerializeToString() + UNKNOWN_FIELD)
    return copy


def persons(*ids: str, as_of: str = build.BASIS) -> persons_pb.BatchGetPersonsRequest:
    """Build a read of people."""
    return persons_pb.BatchGetPersonsRequest(person_ids=ids, as_of=as_of)


def households(*ids: str, as_of: str = build.BASIS) -> households_pb.BatchGetHouseholdsRequest:
    """Build a read of households."""
    return households_pb.BatchGetHouseholdsRequest(household_ids=ids, as_of=as_of)


def birth(person_id: str = SOMEBODY, day: str = build.BASIS, as_of: str = build.BASIS) -> Any:
    """Build a check of a date of birth."""
    return persons_pb.CheckBirthDateRequest(person_id=person_id, birth_date=day, as_of=as_of)


MANY = [str(uuid.uuid4()) for _ in range(501)]

READS = [
    ("BatchGetPersons", persons(), INVALID, "person_ids"),
    ("BatchGetPersons", persons(*MANY), INVALID, "person_ids"),
    ("BatchGetPersons", persons("7"), INVALID, "person_ids[0]"),
    ("BatchGetPersons", persons(SOMEBODY, SOMEBODY.upper()), INVALID, "person_ids[1]"),
    ("BatchGetPersons", persons(SOMEBODY, ""), INVALID, "person_ids[1]"),
    ("BatchGetPersons", persons(SOMEBODY, SOMEBODY), INVALID, "person_ids[1]"),
    ("BatchGetPersons", persons(SOMEBODY, as_of="2026-02-30"), INVALID, "as_of"),
    ("BatchGetPersons", persons(SOMEBODY, as_of="today"), INVALID, "as_of"),
    ("BatchGetPersons", persons(SOMEBODY, as_of="1849-12-31"), INVALID, "as_of"),
    ("BatchGetPersons", foreign(persons(SOMEBODY)), UNKNOWN, ""),
    ("BatchGetHouseholds", households(), INVALID, "household_ids"),
    ("BatchGetHouseholds", households(*MANY), INVALID, "household_ids"),
    ("BatchGetHouseholds", households(SOMEBODY, SOMEBODY), INVALID, "household_ids[1]"),
    ("BatchGetHouseholds", households(SOMEBODY, as_of="2026-13-01"), INVALID, "as_of"),
    ("BatchGetHouseholds", foreign(households(SOMEBODY)), UNKNOWN, ""),
    ("CheckBirthDate", birth(""), INVALID, "person_id"),
    ("CheckBirthDate", birth(day="1984-02"), INVALID, "birth_date"),
    ("CheckBirthDate", birth(as_of=""), INVALID, "as_of"),
    ("CheckBirthDate", foreign(birth()), UNKNOWN, ""),
]

STEPS = [
    (Step(), "key"),
    (Step(person=PersonStep(details=build.person())), "key"),
    (Step(key=step_key.person(0)), "write"),
    (Step(key=StepKey(kind=StepKind.STEP_KIND_UNSPECIFIED), person=PersonStep(details=build.person())), "key.kind"),
    (Step(key=StepKey(kind=77), person=PersonStep(details=build.person())), "key.kind"),  # pyright: ignore[reportArgumentType]
    (Step(key=StepKey(kind=StepKind.STEP_KIND_PERSON, index=1_000), person=build.person_step().person), "key.index"),
    (
        Step(key=StepKey(kind=StepKind.STEP_KIND_HOUSEHOLD, index=1), household=build.household_step().household),
        "key.index",
    ),
    (Step(key=step_key.income(0), person=PersonStep(details=build.person())), "key.kind"),
    (Step(key=step_key.person(0), person=PersonStep()), "person.details"),
    (build.person_step(person_id="7"), "person.person_id"),
    (build.person_step(details=build.person(name=PersonName(given=CANARY))), "person.details.name.family"),
    (build.person_step(details=build.person(CANARY * 12)), "person.details.name.given"),
    (build.person_step(details=build.person(f"{CANARY}\u202e")), "person.details.name.given"),
    (build.person_step(details=build.born("1984-02-30")), "person.details.birth_date.value"),
    (build.person_step(details=build.born("2026-03-15")), "person.details.birth_date.value"),
    (build.person_step(details=build.person(sex=99)), "person.details.sex"),
    (build.person_step(details=build.person(highest_grade=9)), "person.details.highest_grade"),
    (build.household_step(HouseholdDetails()), "household.details.residence"),
    (
        build.household_step(HouseholdDetails(no_fixed_address=NoFixedAddress(state="NY"))),
        "household.details.no_fixed_address.city",
    ),
    (build.household_step(build.home("")), "household.details.home.city"),
    (build.member_step(of=PersonRef()), "member.person.target"),
    (build.member_step(of=PersonRef(person_id=CANARY)), "member.person.person_id"),
    (Step(key=step_key.member(0), member=MemberStep(person=PersonRef(index=0))), "member.details"),
    (build.income_step(details=build.wages(-1)), "income.details.amount_cents"),
    (
        build.income_step(details=HOURLY),
        "income.details.weekly_hours_hundredths",
    ),
    (build.income_step(of=PersonRef()), "income.earner.target"),
]


@pytest.fixture(scope="module")
async def module_service(
    mesh: Mesh, databases: PostgresDatabases, bus_valkey_server: ValkeyServer
) -> AsyncIterator[tuple[RunningPersons, Database]]:
    """One service and its database for all bad requests: none of them leaves anything."""
    fresh = await databases.create("outbox", "persons")
    async with (
        running(mesh, persons_config(mesh, fresh, bus_valkey_server)) as service,
        Database.open(fresh.service) as db,
    ):
        yield service, db


async def refusal(call: Any, request: Message) -> ClientError:
    """Make a call that is refused; whatever the refusal says, it says nothing that was sent."""
    with pytest.raises(ClientError) as caught:
        await call(request)
    assert CANARY not in f"{caught.value} {caught.value.metadata} {caught.value.violations}"
    return caught.value


@pytest.mark.parametrize(("method", "request_message", "reason", "field"), READS)
async def test_bad_reads_are_refused_by_field(
    module_service: tuple[RunningPersons, Database], method: str, request_message: Message, reason: Reason, field: str
) -> None:
    """PER-03: malformed ids, impossible days, too many or repeated ids, unknown fields: refused, the field named."""
    service, _ = module_service
    stub = service.households if method == "BatchGetHouseholds" else service.persons

    error = await refusal(getattr(stub, method), request_message)

    assert (error.reason, error.metadata["field"]) == (reason, field)


@pytest.mark.parametrize("alone", [True, False], ids=["one", "batch"])
@pytest.mark.parametrize(("step", "field"), STEPS, ids=[field for _, field in STEPS])
async def test_bad_steps_are_refused_by_field(
    module_service: tuple[RunningPersons, Database], step: Step, field: str, alone: bool
) -> None:
    """FIN-18: a step that breaks its contract is refused with its path, alone or in a batch, and nothing is written."""
    service, db = module_service
    filing = await service.begin()
    if alone:
        request: Any = finalize_pb.ApplyFinalizeStepRequest(generation=filing.generation, step=step)
        error = await refusal(service.finalize.ApplyFinalizeStep, request)
    else:
        good = [build.person_step(0), build.person_step(1)]
        request = finalize_pb.ApplyFinalizeStepsRequest(generation=filing.generation, steps=[*good, step])
        error = await refusal(service.finalize.ApplyFinalizeSteps, request)

    fields = {violation.field for violation in error.violations}
    assert error.reason == INVALID
    assert f"{'step' if alone else 'steps[2]'}.{field}" in fields
    assert await db.fetchval("SELECT count(*) FROM finalize_receipts") == 0
    assert await db.fetchval("SELECT count(*) FROM redaction_keys") == 0


async def test_batches_of_a_wrong_shape_are_refused(module_service: tuple[RunningPersons, Database]) -> None:
    """FIN-18: an empty batch, one of more than 200 steps, and one that repeats a key."""
    service, _ = module_service
    filing = await service.begin()
    apply, generation = service.finalize.ApplyFinalizeSteps, filing.generation
    person = build.person_step()

    for steps, field in (
        ([], "steps"),
        ([person] * 201, "steps"),
        ([person, build.household_step(), person], "steps[2].key"),
    ):
        error = await refusal(apply, finalize_pb.ApplyFinalizeStepsRequest(generation=generation, steps=steps))
        assert (error.reason, error.metadata["field"]) == (INVALID, field)


async def test_unknown_fields_of_a_step_are_refused(module_service: tuple[RunningPersons, Database]) -> None:
    """FIN-09: what a newer client means to say and this contract does not know is refused, not dropped."""
    service, _ = module_service
    filing = await service.begin()
    step = build.person_step()
    step.person.details.CopyFrom(foreign(build.person()))

    error = await refusal(
        service.finalize.ApplyFinalizeStep,
        finalize_pb.ApplyFinalizeStepRequest(generation=filing.generation, step=step),
    )

    assert (error.reason, error.metadata["field"]) == (UNKNOWN, "step.person.details")


def generation(**changes: Any) -> finalize_pb.Generation:
    """Build the name of a generation."""
    return finalize_pb.Generation(**{"operation_id": SOMEBODY, "generation": 1, "digest": build.DIGEST, **changes})


BAD_GENERATIONS = [
    ({"operation_id": ""}, "operation_id"),
    ({"operation_id": "7"}, "operation_id"),
    ({"generation": 0}, "generation"),
    ({"generation": -1}, "generation"),
    ({"digest": b""}, "digest"),
    ({"digest": b"short"}, "digest"),
    ({"digest": bytes(33)}, "digest"),
]


@pytest.mark.parametrize(("changes", "field"), BAD_GENERATIONS)
async def test_bad_names_of_a_generation_are_refused(
    module_service: tuple[RunningPersons, Database], changes: dict[str, Any], field: str
) -> None:
    """FIN-20: an operation id, number or digest of a wrong form is refused by every method that takes one."""
    service, db = module_service
    bad, finalize = generation(**changes), service.finalize
    calls: list[tuple[Any, Any, str]] = [
        (
            finalize.RegisterOperation,
            finalize_pb.RegisterOperationRequest(generation=bad, basis_date=build.BASIS),
            f"generation.{field}",
        ),
        (
            finalize.ApplyFinalizeStep,
            finalize_pb.ApplyFinalizeStepRequest(generation=bad, step=build.person_step()),
            f"generation.{field}",
        ),
        (
            finalize.ApplyFinalizeSteps,
            finalize_pb.ApplyFinalizeStepsRequest(generation=bad, steps=build.graph()),
            f"generation.{field}",
        ),
        (
            finalize.ReleaseOperation,
            finalize_pb.ReleaseOperationRequest(generation=bad, manifest=[step_key.person(0)]),
            f"generation.{field}",
        ),
    ]
    if field != "digest":
        cancel = finalize_pb.CancelOperationRequest(operation_id=bad.operation_id, generation=bad.generation)
        calls.append((finalize.CancelOperation, cancel, field))
    if field == "operation_id":
        calls.append((finalize.GetOperation, finalize_pb.GetOperationRequest(operation_id=bad.operation_id), field))
    before = await db.fetchval("SELECT count(*) FROM finalize_operation_generations")

    for call, request, path in calls:
        error = await refusal(call, request)
        assert (error.reason, error.metadata["field"]) == (INVALID, path)

    assert await db.fetchval("SELECT count(*) FROM finalize_operation_generations") == before


async def test_bad_registrations_and_manifests_are_refused(module_service: tuple[RunningPersons, Database]) -> None:
    """FIN-19: no generation, no day, an impossible day; no manifest, a repeated key, a key of no step."""
    service, _ = module_service
    filing: Filing = await service.begin()
    named, person = filing.generation, step_key.person(0)
    household = StepKey(kind=StepKind.STEP_KIND_HOUSEHOLD, index=1)
    register, release = service.finalize.RegisterOperation, service.finalize.ReleaseOperation

    for call, request, field in (
        (register, finalize_pb.RegisterOperationRequest(basis_date=build.BASIS), "generation"),
        (register, finalize_pb.RegisterOperationRequest(generation=named), "basis_date"),
        (register, finalize_pb.RegisterOperationRequest(generation=named, basis_date="2026-02-29"), "basis_date"),
        (release, finalize_pb.ReleaseOperationRequest(generation=named), "manifest"),
        (release, finalize_pb.ReleaseOperationRequest(generation=named, manifest=[person, person]), "manifest[1]"),
        (release, finalize_pb.ReleaseOperationRequest(generation=named, manifest=[household]), "manifest[0].index"),
        (release, finalize_pb.ReleaseOperationRequest(generation=named, manifest=[person] * 1001), "manifest"),
    ):
        error = await refusal(call, request)
        assert (error.reason, error.metadata["field"]) == (INVALID, field)
