"""Staging, release and drop: what a transaction leaves in the outbox, on a real PostgreSQL."""

from __future__ import annotations

import asyncio
import uuid

import asyncpg
import pytest
from opentelemetry import trace

from canopy.events.v1.event_pb2 import Event
from services.chassis import outbox
from services.chassis.outbox import Hold
from services.chassis.postgres import Database
from services.chassis.postgres_transaction import Transaction
from services.kernel import tally
from tests.outbox import new_event, stage, text_of

OPERATION = uuid.UUID(int=7)


async def due(db: Database) -> list[str]:
    """Return the texts of what would be published now, in order."""
    rows = await db.fetch("SELECT envelope FROM outbox_due ORDER BY position")
    return [text_of(Event.FromString(row["envelope"])) for row in rows]


async def release(db: Database, generation: int = 1) -> int:
    return await db.transact("release", lambda tx: outbox.release(tx, OPERATION, generation))


async def drop(db: Database, generation: int = 1) -> int:
    return await db.transact("drop", lambda tx: outbox.drop(tx, OPERATION, generation))


async def test_event_exists_only_if_its_transaction_commits(db: Database) -> None:
    """MSH-12: a rolled-back write leaves no event."""

    async def fails(tx: Transaction) -> None:
        await outbox.stage(tx, new_event(text="lost"))
        raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        await db.transact("fails", fails)
    await stage(db, new_event(text="kept"))

    assert await due(db) == ["kept"]


async def test_batch_is_staged_in_its_order_by_one_statement(db: Database) -> None:
    """MSH-12: many events cost one statement, and none costs nothing."""
    texts = [str(number) for number in range(50)]

    with tally.tally() as counted:
        await stage(db, *(new_event(text=text) for text in texts))
        await stage(db)

    assert counted.statements == 1
    assert await due(db) == texts


async def test_envelope_carries_attributes_and_the_trace(db: Database) -> None:
    """MSH-12: the event is complete but for source and time, which publication adds."""
    span = trace.NonRecordingSpan(
        trace.SpanContext(trace_id=1, span_id=2, is_remote=False, trace_flags=trace.TraceFlags(1))
    )

    with trace.use_span(span):
        await stage(db, new_event("household/3", "text", "persons.household.recorded"))

    (row,) = await db.fetch("SELECT event_id, type, subject, shard, envelope FROM event_outbox")
    event = Event.FromString(row["envelope"])
    assert (event.id, event.type, event.subject) == (str(row["event_id"]), row["type"], row["subject"])
    assert (event.type, event.subject) == ("persons.household.recorded", "household/3")
    assert event.traceparent == "00-00000000000000000000000000000001-0000000000000002-01"
    assert row["shard"] == outbox.shard_of("household/3")


def test_shard_of_a_subject_never_changes() -> None:
    """MSH-12: two releases that run side by side agree on the shard, else a subject's order is lost."""
    subjects = ["person/1", "person/2", "household/3", "application/00000000-0000-0000-0000-000000000000", "père/é"]

    assert [outbox.shard_of(subject) for subject in subjects] == [1, 12, 13, 0, 3]


async def test_held_events_are_released_in_staged_order_with_new_positions(db: Database) -> None:
    """FIN-13: what was staged while the attempt was held goes out behind what was published meanwhile."""
    hold = Hold(operation_id=OPERATION, generation=1)
    await stage(db, new_event(text="held 1"), new_event(text="held 2"), hold=hold)
    await stage(db, new_event(text="free"))
    await stage(db, new_event("household/1", "held 3"), hold=hold)
    assert await due(db) == ["free"]

    assert await release(db) == 3

    assert await due(db) == ["free", "held 1", "held 2", "held 3"]
    assert await release(db) == 0
    assert await drop(db) == 0
    assert await due(db) == ["free", "held 1", "held 2", "held 3"]


async def test_dropped_events_are_never_due(db: Database) -> None:
    """FIN-13: after compensation a late release finds nothing."""
    await stage(db, new_event(text="1"), new_event(text="2"), hold=Hold(operation_id=OPERATION, generation=1))

    assert await drop(db) == 2

    assert await drop(db) == 0
    assert await release(db) == 0
    assert await due(db) == []


async def test_release_and_drop_touch_their_own_generation_only(db: Database) -> None:
    """FIN-13: a second attempt's events do not depend on the fate of the first's."""
    for generation in (1, 2):
        await stage(db, new_event(text=f"{generation}"), hold=Hold(operation_id=OPERATION, generation=generation))
    other = Hold(operation_id=uuid.UUID(int=8), generation=2)
    await stage(db, new_event(text="other"), hold=other)

    assert await drop(db, generation=1) == 1
    assert await release(db, generation=2) == 1

    assert await due(db) == ["2"]


async def test_release_and_drop_at_once_have_one_winner(db: Database) -> None:
    """FIN-13: no interleaving leaves a dropped event due, or an event neither dropped nor due."""
    for generation in range(20):
        hold = Hold(operation_id=OPERATION, generation=generation)
        await stage(db, new_event(text="1"), new_event(text="2"), hold=hold)

        released, dropped = await asyncio.gather(release(db, generation), drop(db, generation))

        assert sorted([released, dropped]) == [0, 2]
    states = await db.fetch("SELECT (position IS NULL) AS held, (dropped_at IS NULL) AS alive FROM event_outbox")
    assert all(row["held"] != row["alive"] for row in states)


async def test_released_row_of_an_open_transaction_is_not_due(db: Database) -> None:
    """FIN-13: a release that rolls back has released nothing."""
    await stage(db, new_event(text="held"), hold=Hold(operation_id=OPERATION, generation=1))

    async def fails(tx: Transaction) -> None:
        assert await outbox.release(tx, OPERATION, 1) == 1
        raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        await db.transact("fails", fails)

    assert await due(db) == []
    assert await release(db) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM event_outbox",
        "TRUNCATE event_outbox",
        "UPDATE event_outbox SET envelope = ''",
        "UPDATE event_outbox SET subject = ''",
        "UPDATE event_outbox SET staged_at = clock_timestamp()",
        "DELETE FROM outbox_shards",
        "INSERT INTO outbox_shards (shard) VALUES (3)",
    ],
)
async def test_service_can_neither_delete_nor_rewrite_events(db: Database, statement: str) -> None:
    """MSH-18: what was staged is evidence; the service's role may move it along, not change it."""
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await db.transact("forbidden", lambda tx: tx.execute(statement))


@pytest.mark.parametrize(
    "change",
    [
        "position = NULL",
        "hold_generation = 1",
        "hold_operation_id = gen_random_uuid(), hold_generation = 1",
        "published_at = now(), dropped_at = now()",
        "parked_at = now()",
    ],
)
async def test_impossible_states_are_refused_by_the_table(db: Database, change: str) -> None:
    """FIN-13: a row is held or has a place, and has at most one end."""
    await stage(db, new_event())

    with pytest.raises(asyncpg.CheckViolationError):
        await db.transact("impossible", lambda tx: tx.execute(f"UPDATE event_outbox SET {change}"))
