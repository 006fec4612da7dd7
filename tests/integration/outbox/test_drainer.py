"""The drainer: what is published, in which order, and what an outage or a poison event does."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path

import pytest

from services.chassis import outbox, valkey
from services.chassis.outbox import Hold
from services.chassis.outbox_drainer import Drainer
from services.chassis.postgres import Database
from services.chassis.valkey import ValkeyClient
from services.kernel import failpoint, tally
from services.kernel.failpoint import Action, Failpoint
from tests.outbox import (
    END_WAITS,
    MAX_ATTEMPTS,
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
from tests.valkey import running

OPERATION = uuid.UUID(int=7)


async def test_event_is_published_complete_and_once(db: Database, drainer: Drainer, published: Published) -> None:
    """MSH-12: the bus gets the staged event with its source and the database's time of staging."""
    await stage(db, new_event(text="1"), new_event(text="2"))

    assert await drainer.drain_once() == 2
    assert await drainer.drain_once() == 0

    assert await published.texts() == ["1", "2"]
    rows = await db.fetch("SELECT event_id, staged_at FROM event_outbox ORDER BY position")
    for event, row in zip(await published.events(), rows, strict=True):
        assert event.id == str(row["event_id"])
        assert event.source == "canopy-persons"
        assert event.time.ToDatetime(tzinfo=row["staged_at"].tzinfo) == row["staged_at"]


async def test_held_event_is_published_only_after_release(db: Database, drainer: Drainer, published: Published) -> None:
    """FIN-13: nobody sees an event of an attempt that is not released; one that is dropped is never seen."""
    for generation in (1, 2):
        await stage(db, new_event(text=f"{generation}"), hold=Hold(operation_id=OPERATION, generation=generation))
    await stage(db, new_event(text="free"))
    await drainer.drain_once()
    assert await published.texts() == ["free"]

    await db.transact("drop", lambda tx: outbox.drop(tx, OPERATION, 1))
    await db.transact("release", lambda tx: outbox.release(tx, OPERATION, 2))
    await drainer.drain_once()
    await drainer.drain_once()

    assert await published.texts() == ["free", "2"]


async def test_event_that_commits_behind_a_later_one_is_not_lost(
    db: Database, drainer: Drainer, published: Published
) -> None:
    """MSH-12: the order of positions is not the order of commits, so nothing is read past a remembered position."""
    with failpoint.arm(Failpoint.DB_BEFORE_COMMIT, Action.PAUSE) as pause:
        slow = asyncio.create_task(stage(db, new_event("person/slow", "slow")))
        await pause.reached()
        await stage(db, new_event("person/fast", "fast"))
        await drainer.drain_once()
        assert await published.texts() == ["fast"]
        pause.resume()
        await slow

    await drainer.drain_once()

    assert await published.texts() == ["fast", "slow"]


async def test_backlog_is_drained_in_bounded_passes_and_order(
    db: Database, client: ValkeyClient, published: Published
) -> None:
    """MSH-12: a pass reads a bounded batch of each shard; passes follow each other until nothing is due."""
    texts = [f"{number}" for number in range(45)]
    await stage(db, *(new_event(text=text) for text in texts))
    drainer = new_drainer(db, client, poll_seconds=60, batch=10)
    ended = Ended(db)
    ended.expected = True

    assert [await drainer.drain_once() for _ in range(2)] == [10, 10]
    with failpoint.arm(Failpoint.OUTBOX_AFTER_MARK, ended, times=None):
        async with drainer.worker:
            await soon(ended.seen.wait())

    assert await published.texts() == texts


async def test_idle_pass_costs_one_statement(drainer: Drainer) -> None:
    """MSH-12: looking for work does not load the database."""
    with tally.tally() as counted:
        assert await drainer.drain_once() == 0

    assert counted.statements == 1


async def test_wake_publishes_before_the_next_poll(db: Database, drainer: Drainer, published: Published) -> None:
    """MSH-12: a commit in the same process is published at once; polling only finds what nobody hinted at."""
    async with drainer.worker:
        for text in ("1", "2"):
            with failpoint.arm(Failpoint.OUTBOX_AFTER_MARK, Action.PAUSE) as pause:
                await stage(db, new_event(text=text))
                drainer.wake()
                await soon(pause.reached())

    assert await published.texts() == ["1", "2"]


async def test_bus_outage_puts_nothing_off_and_nothing_is_lost(
    db: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """MSH-12: an outage of the bus is no fault of an event: no attempt is counted, and the drainer recovers alone."""
    async with running(tmp_path, "bus") as server, valkey.connect(server.config()) as client:
        drainer = new_drainer(db, client)
        await server.stop()
        await stage(db, new_event(text="1"), new_event(text="2"))
        with failpoint.arm(Failpoint.OUTBOX_AFTER_CLAIM, noticed := Noticed(3), times=None):
            async with drainer.worker:
                await soon(noticed.enough.wait())
                assert drainer.worker.failures > 0
                assert await db.fetchval("SELECT max(attempts) FROM event_outbox") == 0
                with failpoint.arm(Failpoint.OUTBOX_AFTER_MARK, Action.PAUSE) as pause:
                    await server.start()
                    await soon(pause.reached())

        assert await Published(client=client).texts() == ["1", "2"]
        assert await unpublished(db) == 0


async def test_poison_event_is_put_off_then_parked_and_blocks_its_subject_only(
    db: Database, drainer: Drainer, published: Published, caplog: pytest.LogCaptureFixture
) -> None:
    """MSH-12: a refused event backs off, is parked after its attempts, and others flow past it."""
    await stage(db, new_event("person/a", TOO_LARGE), new_event("person/a", "behind"), new_event("person/b", "1"))

    assert await drainer.drain_once() == 2  # one published, one put off
    assert await drainer.drain_once() == 0  # it waits; it is not tried in a loop
    (row,) = await db.fetch(
        "SELECT attempts, next_attempt_at > clock_timestamp() AS waits FROM event_outbox WHERE attempts > 0"
    )
    assert (row["attempts"], row["waits"]) == (1, True)
    for _ in range(MAX_ATTEMPTS):
        await write(db, END_WAITS)
        await drainer.drain_once()
    await stage(db, new_event("person/b", "2"), new_event("person/a", "behind too"))
    await drainer.drain_once()

    assert await published.texts() == ["1", "2"]
    (row,) = await db.fetch("SELECT subject, attempts, park_reason FROM event_outbox WHERE parked_at IS NOT NULL")
    assert (row["subject"], row["attempts"], row["park_reason"]) == ("person/a", 3, "too_large")
    (record,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert vars(record)["reason"] == "too_large"
    assert not any(text in f"{vars(record)}" for record in caplog.records for text in ("xxx", "person/a"))


async def test_event_that_cannot_be_decoded_is_parked_and_its_shard_drains_on(
    db: Database, drainer: Drainer, published: Published
) -> None:
    """MSH-12: garbage in one row is that row's trouble."""
    shard = outbox.shard_of("person/b")
    await write(
        db,
        "INSERT INTO event_outbox (event_id, position, shard, subject, type, envelope)"
        f" VALUES (gen_random_uuid(), nextval('event_outbox_position'), {shard}, 'person/a', 'persons.x', '\\xff')",
    )
    await stage(db, new_event("person/b", "1"))

    for _ in range(MAX_ATTEMPTS):
        await drainer.drain_once()
        await write(db, END_WAITS)

    assert await published.texts() == ["1"]
    assert await db.fetchval("SELECT park_reason FROM event_outbox WHERE parked_at IS NOT NULL") == "undecodable"


class Noticed:
    """A failpoint's behaviour that only counts; `enough` is set at the given number."""

    def __init__(self, number: int) -> None:
        self._left = number
        self.enough = asyncio.Event()

    async def __call__(self) -> None:
        self._left -= 1
        if self._left == 0:
            self.enough.set()
