"""ApplyFinalizeStep and ApplyFinalizeSteps: one suite for both, since a step is a batch of one (FIN-18)."""

from __future__ import annotations

import asyncio

import pytest

from canopy.errors.v1.reason_pb2 import Reason
from canopy.persons.v1.finalize_service_pb2 import GENERATION_STATE_ACTIVE
from canopy.persons.v1.household_pb2 import PersonRef
from services.chassis.postgres import Database
from services.kernel import failpoint
from services.kernel.errors import ClientError
from services.kernel.failpoint import Action, Failpoint
from tests import persons as build
from tests.mesh import refused
from tests.persons import Apply, Filing, RunningPersons, ids_by_key
from tests.postgres import blocked

INSIDE = (
    Failpoint.PERSONS_AFTER_BEGIN,
    Failpoint.PERSONS_AFTER_GENERATION_LOCK,
    Failpoint.PERSONS_AFTER_RECEIPT,
    Failpoint.PERSONS_AFTER_ENTITY,
    Failpoint.PERSONS_AFTER_EVENT,
    Failpoint.PERSONS_BEFORE_COMMIT,
)

TABLES = (
    "persons",
    "households",
    "members",
    "incomes",
    "person_versions",
    "household_versions",
    "member_versions",
    "income_versions",
    "redaction_keys",
    "finalize_receipts",
    "event_outbox",
)


async def counts(db: Database) -> dict[str, int]:
    """Count the rows of every table that a step writes."""
    return {table: await db.fetchval(f"SELECT count(*) FROM {table}") for table in TABLES}


async def test_steps_leave_a_readable_graph(service: RunningPersons, db: Database, apply: Apply) -> None:
    """FIN-01, FIN-18: steps bring in people, household, memberships and incomes, each with receipt and held event."""
    filing, steps = await service.begin(), build.graph(2)

    ids = ids_by_key(steps, await apply(filing, *steps))

    state = (await service.household(ids["household"])).state
    status = await filing.status()
    assert [member.person_id for member in state.members] == [ids["person/0"], ids["person/1"]]
    assert [income.fact_id for income in state.incomes] == [ids["income/0"], ids["income/1"]]
    assert (status.state, status.receipts, status.held_events) == (GENERATION_STATE_ACTIVE, 7, 7)
    assert len(set(ids.values())) == 7
    assert await db.fetchval("SELECT count(*) FROM redaction_keys") == 7


@pytest.mark.parametrize("point", INSIDE)
async def test_a_failure_inside_leaves_nothing(
    service: RunningPersons, db: Database, apply: Apply, point: Failpoint
) -> None:
    """FIN-01: receipt, entity and event land together: a failure anywhere inside leaves none, a repeat leaves all."""
    filing = await service.begin()
    before = await counts(db)

    with failpoint.arm(point, Action.RAISE), pytest.raises(ClientError):
        await apply(filing, build.person_step())

    assert await counts(db) == before
    await apply(filing, build.person_step())
    assert {table: count for table, count in (await counts(db)).items() if count} == {
        "persons": 1,
        "person_versions": 1,
        "redaction_keys": 1,
        "finalize_receipts": 1,
        "event_outbox": 1,
    }


async def test_an_answer_lost_after_the_commit_is_given_again(service: RunningPersons, apply: Apply) -> None:
    """FIN-02: where the answer is lost after the commit, of a registration or a step, a repeat finds what it left."""
    filing = Filing(service=service)
    with failpoint.arm(Failpoint.PERSONS_AFTER_REGISTER, Action.RAISE), pytest.raises(ClientError):
        await filing.register()
    with failpoint.arm(Failpoint.PERSONS_AFTER_COMMIT, Action.RAISE), pytest.raises(ClientError):
        await apply(filing, build.person_step())
    left = await filing.status()

    await filing.register()
    [person_id] = await apply(filing, build.person_step())

    assert (left.state, left.receipts, left.held_events) == (GENERATION_STATE_ACTIVE, 1, 1)
    assert await filing.status() == left
    assert (await service.person(person_id)).state.details.name.given == "Zoë"


async def test_a_failure_of_the_last_step_leaves_none_of_a_batch(service: RunningPersons, db: Database) -> None:
    """FIN-18: a batch is all or nothing: its last step names nobody, so its first is not there either."""
    filing = await service.begin()

    with refused(Reason.REASON_STEP_UNKNOWN):
        await filing.apply(build.person_step(), build.household_step(), build.income_step(of=PersonRef(index=7)))

    assert sum((await counts(db)).values()) == 0


async def test_a_replay_gives_the_stored_ids_and_changes_nothing(
    service: RunningPersons, db: Database, apply: Apply
) -> None:
    """FIN-02: a repeated step gives the id it left the first time, whatever it says now, and writes nothing."""
    filing, steps = await service.begin(), build.graph(2)
    first = await apply(filing, *steps)
    before = await counts(db)

    again = await apply(filing, *steps)
    other = await apply(filing, build.person_step(0, build.person("Other")))

    assert again == first
    assert other == first[:1]
    assert await counts(db) == before
    assert (await service.person(first[0])).state.details.name.given == "Zoë"


async def test_a_replay_beside_new_steps_writes_the_new_ones(service: RunningPersons, apply: Apply) -> None:
    """FIN-02: in a call that repeats some steps and brings others, the others are written and name the repeated."""
    filing = await service.begin()
    first = await apply(filing, build.person_step(), build.household_step())

    ids = await apply(filing, build.person_step(), build.household_step(), build.member_step(), build.income_step())

    state = (await service.household(ids[1])).state
    assert ids[:2] == first
    assert [member.person_id for member in state.members] == first[:1]
    assert len(state.incomes) == 1


async def test_concurrent_duplicates_give_one_entity(service: RunningPersons, db: Database, apply: Apply) -> None:
    """FIN-02: the same steps sent eight times at once leave one graph, and every sender gets its ids."""
    filing, steps = await service.begin(), build.graph(2)

    answers = await asyncio.gather(*(apply(filing, *steps) for _ in range(8)))

    assert [answer for answer in answers if answer != answers[0]] == []
    assert (await counts(db))["finalize_receipts"] == len(steps)
    assert (await counts(db))["event_outbox"] == len(steps)
    assert (await counts(db))["persons"] == 2


async def test_a_second_sender_waits_for_the_first_and_gets_its_id(
    service: RunningPersons, db: Database, apply: Apply
) -> None:
    """FIN-02: a repeat that arrives while the first is still open waits, then reads the winner's receipt."""
    filing = await service.begin()
    with failpoint.arm(Failpoint.PERSONS_AFTER_EVENT, Action.PAUSE) as paused:
        first = asyncio.create_task(apply(filing, build.person_step()))
        await paused.reached()
        second = asyncio.create_task(apply(filing, build.person_step()))
        await blocked(db, second)
        paused.resume()

    assert await second == await first
    assert (await counts(db))["persons"] == 1


@pytest.mark.parametrize(
    ("prepare", "reason"),
    [
        ("absent", Reason.REASON_GENERATION_ABSENT),
        ("cancelled", Reason.REASON_GENERATION_CANCELLED),
        ("sealed", Reason.REASON_GENERATION_SEALED),
        ("blocked", Reason.REASON_RELEASE_BLOCKED),
        ("other digest", Reason.REASON_DIGEST_MISMATCH),
    ],
)
async def test_steps_of_a_generation_that_is_not_open_are_refused(
    service: RunningPersons, db: Database, apply: Apply, prepare: str, reason: Reason
) -> None:
    """FIN-04, FIN-19, FIN-20: absent, cancelled, sealed, blocked, or another digest: refused, and nothing written."""
    filing = Filing(service=service)
    match prepare:
        case "cancelled":
            await filing.cancel()
        case "sealed":
            await filing.register()
            ids = await filing.apply(build.person_step())
            await filing.release([build.person_step().key])
            assert ids
        case "blocked":
            await filing.register()
            with refused(Reason.REASON_RELEASE_BLOCKED):
                await filing.release([build.person_step().key])
        case "other digest":
            await filing.register()
            filing = Filing(service=service, operation_id=filing.operation_id, digest=build.OTHER_DIGEST)
        case _:
            pass
    before = await counts(db)

    for step in (build.person_step(0), build.person_step(1)):
        with refused(reason):
            await apply(filing, step)

    assert await counts(db) == before
