"""The persons service for tests: a running one, builders of steps, and short ways to write and read."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import grpc

from canopy.persons.v1 import finalize_service_pb2 as finalize_pb
from canopy.persons.v1 import households_service_pb2 as households_pb
from canopy.persons.v1 import persons_service_pb2 as persons_pb
from canopy.persons.v1.finalize_service_pb2_grpc import FinalizeServiceStub
from canopy.persons.v1.household_pb2 import (
    Address,
    HouseholdDetails,
    MemberDetails,
    PersonRef,
    RelationToHead,
    Tie,
    TieKind,
)
from canopy.persons.v1.households_service_pb2_grpc import HouseholdsServiceStub
from canopy.persons.v1.income_pb2 import Frequency, IncomeDetails, IncomeKind
from canopy.persons.v1.person_pb2 import DatePrecision, PartialDate, PersonDetails, PersonName
from canopy.persons.v1.persons_service_pb2_grpc import PersonsServiceStub
from canopy.persons.v1.step_pb2 import HouseholdStep, IncomeStep, MemberStep, PersonStep, Step, StepKey
from services.chassis import valkey
from services.chassis.postgres import Database
from services.cli.stack.valkey import ValkeyServer
from services.kernel import step_key
from services.persons import main
from services.persons.config import KeysConfig, PersonsConfig
from services.persons.store import keys
from tests.applications import key_ring
from tests.mesh import Mesh
from tests.postgres import FreshDatabase

if TYPE_CHECKING:  # the stubs know these names, the generated code does not
    from canopy.persons.v1.finalize_service_pb2_grpc import FinalizeServiceAsyncStub
    from canopy.persons.v1.households_service_pb2_grpc import HouseholdsServiceAsyncStub
    from canopy.persons.v1.persons_service_pb2_grpc import PersonsServiceAsyncStub

APPLICATIONS: Final = "canopy-applications"
BASIS: Final = "2026-03-14"
DIGEST: Final = bytes(range(32))
OTHER_DIGEST: Final = bytes(32)


def persons_config(mesh: Mesh, fresh: FreshDatabase, bus: ValkeyServer, **sections: Any) -> PersonsConfig:
    """Configure the service on a database of the lines outbox and persons; `sections` replace the defaults."""
    defaults: dict[str, Any] = {
        "database": fresh.service,
        "keys": KeysConfig(records=key_ring("k1")),
        "valkey": valkey.ValkeyConfig(url=bus.url(), password=bus.password),
    }
    return PersonsConfig(**mesh.sections(), **{**defaults, **sections})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningPersons:
    """A running persons service, called as the applications service calls it."""

    channel: grpc.aio.Channel
    finalize: FinalizeServiceAsyncStub
    persons: PersonsServiceAsyncStub
    households: HouseholdsServiceAsyncStub

    async def person(self, person_id: str, as_of: str = BASIS) -> persons_pb.PersonEntry:
        """Read one person."""
        request = persons_pb.BatchGetPersonsRequest(person_ids=[person_id], as_of=as_of)
        return (await self.persons.BatchGetPersons(request)).entries[0]

    async def household(self, household_id: str, as_of: str = BASIS) -> households_pb.HouseholdEntry:
        """Read one household."""
        request = households_pb.BatchGetHouseholdsRequest(household_ids=[household_id], as_of=as_of)
        return (await self.households.BatchGetHouseholds(request)).entries[0]

    async def begin(self, basis_date: str = BASIS) -> Filing:
        """Register the first generation of a new operation."""
        filing = Filing(service=self)
        await filing.register(basis_date)
        return filing

    async def record(self, *steps: Step, basis_date: str = BASIS) -> list[str]:
        """Record steps by a finalize of their own, from registration to release. Returns their stable ids."""
        filing = await self.begin(basis_date)
        ids = await filing.apply(*steps)
        await filing.release(step.key for step in steps)
        return ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Filing:
    """One attempt of one operation, as its coordinator sees it."""

    service: RunningPersons
    operation_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    number: int = 1
    digest: bytes = DIGEST

    @property
    def generation(self) -> finalize_pb.Generation:
        """Name the attempt in a request."""
        return finalize_pb.Generation(operation_id=self.operation_id, generation=self.number, digest=self.digest)

    async def register(self, basis_date: str = BASIS) -> None:
        """Open it."""
        request = finalize_pb.RegisterOperationRequest(generation=self.generation, basis_date=basis_date)
        await self.service.finalize.RegisterOperation(request)

    async def apply(self, *steps: Step) -> list[str]:
        """Apply steps as one batch. Returns their stable ids."""
        request = finalize_pb.ApplyFinalizeStepsRequest(generation=self.generation, steps=steps)
        answer = await self.service.finalize.ApplyFinalizeSteps(request)
        return [receipt.stable_id for receipt in answer.receipts]

    async def apply_each(self, *steps: Step) -> list[str]:
        """Apply steps one by one. Returns their stable ids."""
        ids: list[str] = []
        for step in steps:
            request = finalize_pb.ApplyFinalizeStepRequest(generation=self.generation, step=step)
            ids.append((await self.service.finalize.ApplyFinalizeStep(request)).receipt.stable_id)
        return ids

    async def release(self, manifest: Iterable[StepKey]) -> int:
        """Release it. Returns how many events that let go."""
        request = finalize_pb.ReleaseOperationRequest(generation=self.generation, manifest=manifest)
        return (await self.service.finalize.ReleaseOperation(request)).released_events

    async def cancel(self) -> None:
        """Cancel it."""
        request = finalize_pb.CancelOperationRequest(operation_id=self.operation_id, generation=self.number)
        await self.service.finalize.CancelOperation(request)

    async def statuses(self) -> Sequence[finalize_pb.GenerationStatus]:
        """Read where the operation's generations stand."""
        request = finalize_pb.GetOperationRequest(operation_id=self.operation_id)
        return (await self.service.finalize.GetOperation(request)).generations

    async def status(self) -> finalize_pb.GenerationStatus:
        """Read where this attempt stands."""
        return next(each for each in await self.statuses() if each.generation == self.number)


Apply: TypeAlias = Callable[..., Coroutine[Any, Any, list[str]]]
"""Filing.apply or Filing.apply_each."""


@asynccontextmanager
async def running(mesh: Mesh, config: PersonsConfig, *, caller: str = APPLICATIONS) -> AsyncIterator[RunningPersons]:
    """Run the service in this process, and dial it as `caller`."""
    async with mesh.serve(main.build, config) as served, mesh.dial(served, main.NAME, caller=caller) as channel:
        yield RunningPersons(
            channel=channel,
            finalize=FinalizeServiceStub(channel),
            persons=PersonsServiceStub(channel),
            households=HouseholdsServiceStub(channel),
        )


def person(given: str = "Zoë", **parts: Any) -> PersonDetails:
    """Build a person who breaks no rule."""
    parts.setdefault("name", PersonName(given=given, family="Nguyễn"))
    return PersonDetails(**parts)


def born(day: str, precision: DatePrecision = DatePrecision.DATE_PRECISION_EXACT) -> PersonDetails:
    """Build a person with a date of birth."""
    return person(birth_date=PartialDate(precision=precision, value=day))


def home(city: str = "Albany") -> HouseholdDetails:
    """Build a household with an address."""
    return HouseholdDetails(home=Address(lines=["1 Main St"], city=city, state="NY", zip="12207"))


def wages(cents: int = 120_000) -> IncomeDetails:
    """Build an income."""
    kind, monthly = IncomeKind.INCOME_KIND_WAGES, Frequency.FREQUENCY_MONTHLY
    return IncomeDetails(kind=kind, amount_cents=cents, frequency=monthly)


def membership(*ties: Tie, relation: RelationToHead = RelationToHead.RELATION_TO_HEAD_HEAD) -> MemberDetails:
    """Build a membership."""
    return MemberDetails(relation=relation, shares_meals=True, ties=ties)


def parent_of(index: int | None = None, *, person_id: str = "") -> Tie:
    """Build a tie to a person by position, or by id."""
    to = PersonRef(person_id=person_id) if index is None else PersonRef(index=index)
    return Tie(to=to, kind=TieKind.TIE_KIND_PARENT)


def person_step(index: int = 0, details: PersonDetails | None = None, *, person_id: str = "") -> Step:
    """Build the step of a person, new or on record."""
    write = PersonStep(person_id=person_id, details=details or person())
    return Step(key=step_key.person(index), person=write)


def household_step(details: HouseholdDetails | None = None, *, household_id: str = "") -> Step:
    """Build the step of the household."""
    return Step(key=step_key.household(), household=HouseholdStep(household_id=household_id, details=details or home()))


def member_step(
    index: int = 0, details: MemberDetails | None = None, *, of: PersonRef | None = None, fact_id: str = ""
) -> Step:
    """Build the step of a membership; of person `index` where nobody else is named."""
    write = MemberStep(fact_id=fact_id, person=of or PersonRef(index=index), details=details or membership())
    return Step(key=step_key.member(index), member=write)


def income_step(
    index: int = 0, details: IncomeDetails | None = None, *, of: PersonRef | None = None, fact_id: str = ""
) -> Step:
    """Build the step of an income; of person 0 where nobody else is named."""
    write = IncomeStep(fact_id=fact_id, earner=of or PersonRef(index=0), details=details or wages())
    return Step(key=step_key.income(index), income=write)


def graph(people: int = 1) -> list[Step]:
    """Build a filing's steps: people, their household, their memberships, and an income of each."""
    everyone = range(people)
    return [
        *(person_step(index) for index in everyone),
        household_step(),
        *(member_step(index) for index in everyone),
        *(income_step(index, of=PersonRef(index=index)) for index in everyone),
    ]


def keys_of(steps: Iterable[Step]) -> list[StepKey]:
    """List the keys of steps: their manifest."""
    return [step.key for step in steps]


def ids_by_key(steps: Sequence[Step], ids: Sequence[str]) -> Mapping[str, str]:
    """Pair stable ids with the text form of their keys."""
    return {step_key.to_text(step.key): stable_id for step, stable_id in zip(steps, ids, strict=True)}


async def shred(db: Database, table: str, version_id: str) -> None:
    """Shred the data of one version."""
    dek_id = await db.fetchval(f"SELECT dek_id FROM {table} WHERE version_id = $1", uuid.UUID(version_id))
    assert await db.transact("shred", lambda tx: keys.shred_with_dek_id(tx, dek_id))
