"""Drainers that lose their lease, are killed or steal from each other: nothing is lost, order is kept."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from services.chassis import outbox
from services.chassis.outbox_drainer import Drainer
from services.chassis.postgres import Database
from services.chassis.postgres_transaction import Transaction
from services.chassis.valkey import ValkeyClient, ValkeyConfig
from services.kernel import failpoint
from services.kernel.failpoint import Action, Failpoint, FailpointError
from tests.outbox import (
    END_LEASES,
    TOO_LARGE,
    Ended,
    Published,
    new_drainer,
    new_event,
    soon,
    stage,
    unpublished,
    write,
)
from tests.postgres import FreshDatabase

REPOSITORY = Path(__file__).parents[3]
HISTORY = 15
EVENT_IDS = "SELECT event_id FROM event_outbox"


async def test_drainer_that_lost_its_lease_marks_nothing(
    db: Database, client: ValkeyClient, drainer: Drainer, published: Published
) -> None:
    """MSH-12: marks compare the token of the claim, so a paused drainer cannot write over its successor's work."""
    await stage(db, new_event("person/a", "1"), new_event("person/b", TOO_LARGE))
    successor = new_drainer(db, client)

    with failpoint.arm(Failpoint.OUTBOX_AFTER_PUBLISH, Action.PAUSE) as stale:
        losing = asyncio.create_task(drainer.drain_once())
        await soon(stale.reached())
        assert await successor.drain_once() == 0  # the lease lives
        await write(db, END_LEASES)
        with failpoint.arm(Failpoint.OUTBOX_AFTER_CLAIM, Action.PAUSE) as fresh_claim:
            winning = asyncio.create_task(successor.drain_once())
            await soon(fresh_claim.reached())
            stale.resume()
            assert await losing == 0
            assert await unpublished(db) == 2
            assert await db.fetchval("SELECT max(attempts) FROM event_outbox") == 0
            fresh_claim.resume()
            assert await winning == 2

    assert await published.texts() == ["1", "1"]
    first, second = await published.events()
    assert first.id == second.id
    assert await db.fetchval("SELECT max(attempts) FROM event_outbox") == 1


async def test_drainer_that_lost_one_shard_marks_the_others_only(
    db: Database, client: ValkeyClient, drainer: Drainer
) -> None:
    """MSH-12: a theft of one shard leaves the thief's shard to the thief."""
    await stage(db, new_event("person/1", "kept"), new_event("person/2", "stolen"))
    stolen = outbox.shard_of("person/2")
    assert stolen != outbox.shard_of("person/1")

    with failpoint.arm(Failpoint.OUTBOX_AFTER_PUBLISH, Action.PAUSE) as stale:
        losing = asyncio.create_task(drainer.drain_once())
        await soon(stale.reached())
        await write(db, f"UPDATE outbox_shards SET holder = gen_random_uuid() WHERE shard = {stolen}")
        stale.resume()
        assert await losing == 1

    left = await db.fetch("SELECT subject FROM event_outbox WHERE published_at IS NULL")
    assert [row["subject"] for row in left] == ["person/2"]


@pytest.mark.parametrize(
    ("point", "on_the_bus", "marked"),
    [
        (Failpoint.OUTBOX_AFTER_CLAIM, 0, 0),
        (Failpoint.OUTBOX_AFTER_PUBLISH, 2, 0),
        (Failpoint.OUTBOX_AFTER_MARK, 2, 2),
    ],
)
async def test_drainer_killed_at_a_boundary_loses_nothing(
    fresh: FreshDatabase,
    db: Database,
    store: ValkeyConfig,
    drainer: Drainer,
    published: Published,
    point: Failpoint,
    on_the_bus: int,
    marked: int,
) -> None:
    """FIN-26: after kill -9 the lease ends, a peer goes on, and a repeated event keeps its id."""
    await stage(db, new_event("person/a", "1"), new_event("person/b", "2"))

    assert await killed_drainer(fresh, store, point) == -9
    assert len(await published.events()) == on_the_bus
    assert await unpublished(db) == 2 - marked
    assert await drainer.drain_once() == 0  # the dead one's lease lives
    await write(db, END_LEASES)
    assert await drainer.drain_once() == 2 - marked

    events = await published.events()
    assert len(events) == on_the_bus + 2 - marked
    assert {event.id for event in events} == {str(row["event_id"]) for row in await db.fetch(EVENT_IDS)}
    assert await unpublished(db) == 0


async def test_failed_pass_gives_its_shards_back(db: Database, drainer: Drainer, published: Published) -> None:
    """FIN-26: an error between publishing and marking leads to a repeat at once, not after a lease."""
    await stage(db, new_event(text="1"))

    with failpoint.arm(Failpoint.OUTBOX_AFTER_PUBLISH, Action.RAISE), pytest.raises(FailpointError):
        await drainer.drain_once()

    assert await drainer.drain_once() == 1
    assert await published.texts() == ["1", "1"]


async def test_clock_that_steps_back_keeps_no_free_shard(db: Database, drainer: Drainer, published: Published) -> None:
    """MSH-12: a shard that was given back is free, though the instant at which that was done is ahead of the clock."""
    await stage(db, new_event("person/a", "1"))
    assert await drainer.drain_once() == 1
    await write(db, "UPDATE outbox_shards SET lease_until = lease_until + interval '1 hour' WHERE holder IS NULL")

    await stage(db, new_event("person/a", "2"))
    assert await drainer.drain_once() == 1

    assert await published.texts() == ["1", "2"]


async def test_drainers_that_steal_from_each_other_keep_order_and_lose_nothing(
    db: Database, client: ValkeyClient, published: Published
) -> None:
    """MSH-12: over a history with stolen leases, first deliveries of a subject are in the order of its commits."""
    subjects = [f"person/{number}" for number in range(12)]
    thefts = Thefts(db, new_drainer(db, client, batch=4))
    ended = Ended(db)
    drainers = [new_drainer(db, client, poll_seconds=0.05, batch=3, shards=5) for _ in range(3)]

    with (
        failpoint.arm(Failpoint.OUTBOX_AFTER_PUBLISH, thefts, times=None),
        failpoint.arm(Failpoint.OUTBOX_AFTER_MARK, ended, times=None),
    ):
        for drainer in drainers:
            drainer.worker.start()
        await asyncio.gather(*(write_history(db, subject, writer) for subject in subjects for writer in range(2)))
        ended.expected = True
        await stage(db, new_event("end", "last"))
        await soon(ended.seen.wait())
        for drainer in drainers:
            await drainer.worker.stop()

    events = await published.events()
    first_deliveries = list({event.id: event for event in reversed(events)}.values())[::-1]
    assert thefts.marked > 0
    assert len(events) > len(first_deliveries)
    staged = await db.fetch("SELECT event_id, subject FROM event_outbox ORDER BY position")
    for subject in subjects:
        expected = [str(row["event_id"]) for row in staged if row["subject"] == subject]
        assert len(expected) == 2 * HISTORY
        assert [event.id for event in first_deliveries if event.subject == subject] == expected


class Thefts:
    """A failpoint's behaviour: every third pass loses its leases between publish and mark, and a thief drains first."""

    def __init__(self, db: Database, thief: Drainer) -> None:
        self._db = db
        self._thief = thief
        self._passes = 0
        self.marked = 0

    async def __call__(self) -> None:
        self._passes += 1
        if self._passes % 3 == 0:
            await write(self._db, END_LEASES)
            self.marked += await self._thief.drain_once()


async def write_history(db: Database, subject: str, writer: int) -> None:
    """Stage events of a subject under its lock, as every writer that needs an order does."""
    for number in range(HISTORY):

        async def work(tx: Transaction, text: str = f"{writer}/{number}") -> None:
            await tx.fetch("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", subject)
            await outbox.stage(tx, new_event(subject, text))

        await db.transact("history", work)


async def killed_drainer(fresh: FreshDatabase, store: ValkeyConfig, point: Failpoint) -> int:
    """Drain in a process that kills itself at the point; return its exit code."""
    assert store.password is not None
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.integration.outbox.drainer_process",
        cwd=REPOSITORY,
        env={
            **os.environ,
            failpoint.VARIABLE: f"{point.value}=kill",
            "DSN": fresh.service.dsn,
            "DATABASE_PASSWORD": fresh.service.password.reveal(),
            "BUS_URL": store.url,
            "BUS_PASSWORD": store.password.reveal(),
        },
    )
    return await soon(process.wait())
