"""What steps of a finalize refer to: entities on record, and earlier steps. One suite for both RPCs (FIN-18)."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

import pytest

from canopy.errors.v1.reason_pb2 import Reason
from canopy.persons.v1.household_pb2 import PersonRef
from canopy.persons.v1.step_pb2 import Step
from services.chassis.postgres import Database
from services.kernel.errors import ClientError
from tests import persons as build
from tests.mesh import reason_of, refused
from tests.persons import Apply, RunningPersons, ids_by_key


async def test_everything_on_record_can_get_a_new_version(service: RunningPersons, apply: Apply) -> None:
    """FIN-27: what is on record keeps its id and says something else from a day on, whatever its kind."""
    steps = build.graph()
    ids = ids_by_key(steps, await service.record(*steps))
    filing = await service.begin("2026-05-01")
    tied = build.membership(build.parent_of(person_id=ids["person/0"]))
    updates = [
        build.person_step(details=build.person("Anna"), person_id=ids["person/0"]),
        build.household_step(build.home("Troy"), household_id=ids["household"]),
        build.member_step(details=tied, fact_id=ids["member/0"]),
        build.income_step(details=build.wages(7), fact_id=ids["income/0"]),
    ]

    again = await apply(filing, *updates)

    before = (await service.household(ids["household"], "2026-04-30")).state
    after = (await service.household(ids["household"], "2026-05-01")).state
    assert again == list(ids.values())
    assert (before.details.home.city, after.details.home.city) == ("Albany", "Troy")
    assert (len(before.members[0].details.ties), len(after.members[0].details.ties)) == (0, 1)
    assert (before.incomes[0].details.amount_cents, after.incomes[0].details.amount_cents) == (120_000, 7)
    assert before.version.valid_until == after.version.valid_from == "2026-05-01"


async def test_a_referenced_person_joins_a_household(service: RunningPersons, apply: Apply) -> None:
    """FIN-27: a person on record becomes a member and an earner by id, without a version of their own."""
    [person_id] = await service.record(build.person_step(details=build.person("Ana")))
    version = (await service.person(person_id)).state.version
    filing, who = await service.begin(), PersonRef(person_id=person_id)

    ids = await apply(filing, build.household_step(), build.member_step(of=who), build.income_step(of=who))

    state = (await service.household(ids[0])).state
    assert [member.person_id for member in state.members] == [person_id]
    assert [income.person_id for income in state.incomes] == [person_id]
    assert (await service.person(person_id)).state.version == version


NOBODY = str(uuid.uuid4())


@pytest.mark.parametrize(
    ("steps", "entity"),
    [
        ([build.person_step(person_id=NOBODY)], "person"),
        ([build.household_step(household_id=NOBODY)], "household"),
        ([build.person_step(), build.household_step(), build.member_step(fact_id=NOBODY)], "member"),
        ([build.person_step(), build.income_step(fact_id=NOBODY)], "income"),
        ([build.income_step(of=PersonRef(person_id=NOBODY))], "person"),
        ([build.household_step(), build.member_step(of=PersonRef(person_id=NOBODY))], "person"),
        (
            [
                build.person_step(),
                build.household_step(),
                build.member_step(details=build.membership(build.parent_of(person_id=NOBODY))),
            ],
            "person",
        ),
    ],
    ids=["person", "household", "membership", "income", "earner", "member", "tie"],
)
async def test_unknown_ids_are_refused(
    service: RunningPersons, apply: Apply, steps: Sequence[Step], entity: str
) -> None:
    """FIN-27: an id that is not on record is refused with the kind of entity, wherever a step names it."""
    filing = await service.begin()

    with pytest.raises(ClientError) as caught:
        await apply(filing, *steps)

    assert reason_of(caught.value) == "REASON_ENTITY_NOT_FOUND"
    assert caught.value.metadata["entity"] == entity


async def test_shredded_entities_are_refused(service: RunningPersons, db: Database, apply: Apply) -> None:
    """PER-06: what was shredded can neither get a new version nor be referred to."""
    steps = build.graph()
    ids = ids_by_key(steps, await service.record(*steps))
    version = (await service.person(ids["person/0"])).state.version
    await build.shred(db, "person_versions", version.version_id)
    filing, who = await service.begin(), PersonRef(person_id=ids["person/0"])

    for step in (build.person_step(person_id=ids["person/0"]), build.income_step(of=who)):
        with refused(Reason.REASON_ENTITY_SHREDDED):
            await apply(filing, step)


async def test_facts_of_others_are_refused(service: RunningPersons, apply: Apply) -> None:
    """FIN-27: a membership of another household, or an income of another person, is not taken over."""
    steps = build.graph(2)
    ids = ids_by_key(steps, await service.record(*steps))
    filing = await service.begin()
    first, other = PersonRef(person_id=ids["person/0"]), PersonRef(person_id=ids["person/1"])
    await apply(filing, build.household_step())

    for step, rule in (
        (build.member_step(of=first, fact_id=ids["member/0"]), "same_household"),
        (build.income_step(of=other, fact_id=ids["income/0"]), "same_person"),
    ):
        with pytest.raises(ClientError) as caught:
            await apply(filing, step)
        assert caught.value.metadata["rule"] == rule
        assert caught.value.metadata["field"].endswith(".fact_id")


async def test_an_attempt_writes_an_entity_once(service: RunningPersons, apply: Apply) -> None:
    """FIN-18: two steps of one attempt about the same entity are refused, in one call as in two."""
    [person_id] = await service.record(build.person_step())
    filing = await service.begin()

    with pytest.raises(ClientError) as caught:
        await apply(filing, *(build.person_step(index, person_id=person_id) for index in (0, 1)))

    assert (caught.value.metadata["rule"], caught.value.reason) == ("unique", Reason.REASON_INVALID_FIELD)
    assert caught.value.metadata["field"].endswith("person.person_id")


@pytest.mark.parametrize(
    ("step", "field"),
    [
        (build.member_step(), "member"),
        (build.income_step(), "income.earner.index"),
        (build.income_step(of=PersonRef(index=4_000_000_000)), "income.earner.index"),
    ],
    ids=["no household", "no earner", "nobody's position"],
)
async def test_a_step_that_names_an_unknown_step_is_refused(
    service: RunningPersons, apply: Apply, step: Step, field: str
) -> None:
    """FIN-18: a step may name earlier steps only; the refusal names the field."""
    filing = await service.begin()

    with pytest.raises(ClientError) as caught:
        await apply(filing, step)

    assert reason_of(caught.value) == "REASON_STEP_UNKNOWN"
    assert caught.value.metadata["field"].endswith(field)


async def test_people_before_their_ties(service: RunningPersons, apply: Apply) -> None:
    """FIN-18: a tie to a position that no step has filled is refused, with the tie's path."""
    filing = await service.begin()
    await apply(filing, build.person_step(), build.household_step())

    with pytest.raises(ClientError) as caught:
        await apply(filing, build.member_step(details=build.membership(build.parent_of(0), build.parent_of(3))))

    assert caught.value.metadata["field"].endswith("member.details.ties[1].to.index")
