"""The plan of a filing."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

from hypothesis import given

from canopy.applications.v1.finalize_pb2 import FinalizeRequest
from canopy.persons.v1.household_pb2 import PersonRef
from canopy.persons.v1.step_pb2 import Step
from services.applications.domain.plan import BATCH_STEPS, plan_of, programs_requested
from services.kernel import fields, step_key
from tests import filings
from tests.filings import MEDICAID, SNAP, filing, income


def keys(request: FinalizeRequest) -> list[str]:
    return [step_key.to_text(key) for key in plan_of(request).manifest]


def references(step: Step) -> Iterator[PersonRef]:
    if step.HasField("member"):
        yield step.member.person
        yield from (tie.to for tie in step.member.details.ties)
    if step.HasField("income"):
        yield step.income.earner


def test_small_household_takes_people_household_members_incomes() -> None:
    """FIN-03: the steps of a filing and their keys, spelled out."""
    assert keys(filing(2, incomes=1)) == ["person/0", "person/1", "household", "member/0", "member/1", "income/0"]


@given(filings.filings())
def test_keys_are_unique_and_stable(request: FinalizeRequest) -> None:
    """FIN-03: the same request gives the same plan, byte for byte, and no key twice."""
    again = FinalizeRequest.FromString(request.SerializeToString())

    assert len(set(keys(request))) == len(keys(request))
    assert [step.SerializeToString(deterministic=True) for step in plan_of(request).steps] == [
        step.SerializeToString(deterministic=True) for step in plan_of(again).steps
    ]


@given(filings.filings())
def test_references_go_backwards(request: FinalizeRequest) -> None:
    """FIN-18: every step names only steps before it, and members come after the household."""
    seen: set[str] = set()
    for step in plan_of(request).steps:
        for ref in references(step):
            assert step_key.to_text(step_key.person(ref.index)) in seen
        if step.HasField("member"):
            assert "household" in seen
        seen.add(step_key.to_text(step.key))


@given(filings.filings())
def test_batches_are_the_steps_in_order_and_within_the_limit(request: FinalizeRequest) -> None:
    """FIN-18: no step is lost or moved between batches, and each batch keeps the contract of its message."""
    plan = plan_of(request)
    batches = list(plan.batches(7))

    assert [step for batch in batches for step in batch] == list(plan.steps)
    assert all(0 < len(batch) <= 7 for batch in batches)
    assert all(fields.violations(step) == [] for step in plan.steps)


def test_household_of_ten_fits_one_batch() -> None:
    """FIN-18: an ordinary household is one call; the largest filing is four."""
    assert len(list(plan_of(filing(10, incomes=20)).batches())) == 1
    assert len(list(plan_of(filing(100, incomes=500)).batches())) == 4
    assert BATCH_STEPS == 200


def test_facts_on_record_come_before_new_ones() -> None:
    """FIN-27: what may turn out to be unknown is asked for first; keys keep the positions of the request."""
    request = filing(3, incomes=0)
    request.incomes.extend([income(0), income(1)])
    request.incomes[1].fact_id = str(uuid.UUID(int=1))
    request.people[2].member_fact_id = str(uuid.UUID(int=2))

    assert keys(request)[4:] == ["member/2", "income/1", "member/0", "member/1", "income/0"]


def test_programs_requested_are_each_named_once() -> None:
    """FIN-08: the union over people, in the order of the contract."""
    assert programs_requested(filing(4)) == (SNAP, MEDICAID)
