"""The plan of a filing: which steps the persons service has to take, in which order, under which keys (FIN-03, FIN-18).

Pure, so that the same request always gives the same plan, on whatever day and in whatever process it is resumed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from canopy.applications.v1.application_pb2 import Program
from canopy.applications.v1.finalize_pb2 import FinalizeRequest
from canopy.persons.v1.household_pb2 import PersonRef
from canopy.persons.v1.step_pb2 import (
    HouseholdStep,
    IncomeStep,
    MemberStep,
    PersonStep,
    Step,
    StepKey,
    StepReceipt,
)
from services.kernel import step_key

BATCH_STEPS: Final = 200
"""Most steps of one ApplyFinalizeSteps, as its contract says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The steps of a filing in the order in which they are applied: each names earlier ones only."""

    steps: tuple[Step, ...]

    @property
    def manifest(self) -> tuple[StepKey, ...]:
        """The keys of all steps, in their order."""
        return tuple(step.key for step in self.steps)

    def batches(self, size: int = BATCH_STEPS) -> Iterator[tuple[Step, ...]]:
        """Cut the steps into batches of at most `size`, in their order."""
        for start in range(0, len(self.steps), size):
            yield self.steps[start : start + size]


def plan_of(request: FinalizeRequest) -> Plan:
    """Plan a filing that is in order (see filing.py).

    People come first, then the household they are members of, then memberships and incomes. Of the latter, those that
    update a fact on record come before new ones, so that a reference to something unknown is met in the first batch,
    as far as it goes, while nothing has been written yet.
    """
    rest = [*_members(request), *_incomes(request)]
    rest.sort(key=_is_new)
    return Plan(steps=(*_people(request), _household(request), *rest))


def _people(request: FinalizeRequest) -> Iterator[Step]:
    for index, person in enumerate(request.people):
        yield Step(key=step_key.person(index), person=PersonStep(person_id=person.person_id, details=person.details))


def _household(request: FinalizeRequest) -> Step:
    household = request.household
    return Step(
        key=step_key.household(),
        household=HouseholdStep(household_id=household.household_id, details=household.details),
    )


def _members(request: FinalizeRequest) -> Iterator[Step]:
    for index, person in enumerate(request.people):
        if person.HasField("member"):
            member = MemberStep(fact_id=person.member_fact_id, person=PersonRef(index=index), details=person.member)
            yield Step(key=step_key.member(index), member=member)


def _incomes(request: FinalizeRequest) -> Iterator[Step]:
    for index, income in enumerate(request.incomes):
        step = IncomeStep(fact_id=income.fact_id, earner=PersonRef(index=income.earner), details=income.details)
        yield Step(key=step_key.income(index), income=step)


def _is_new(step: Step) -> bool:
    return not (step.member.fact_id or step.income.fact_id)


def programs_requested(request: FinalizeRequest) -> tuple[Program, ...]:
    """List the programs that anyone asks for, each once, in the order of their numbers."""
    return tuple(sorted({program for person in request.people for program in person.programs}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """The stable ids that the steps of a plan left behind, by the text form of their keys."""

    ids: Mapping[str, str]

    @classmethod
    def of(cls, receipts: list[StepReceipt]) -> Recorded:
        """Collect receipts."""
        return cls(ids={step_key.to_text(receipt.key): receipt.stable_id for receipt in receipts})

    @property
    def household_id(self) -> str:
        """The household of the filing."""
        return self.ids[step_key.to_text(step_key.household())]

    def person_id(self, index: int) -> str:
        """Return the id of the person at `index` of the request."""
        return self.ids[step_key.to_text(step_key.person(index))]
