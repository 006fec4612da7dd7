"""The drainer: what is published, in which order, and what a failure at any point leaves."""

from __future__ import annotations

import asyncio
import os
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import TypeVar

import pytest

from services.chassis import outbox, valkey
from services.chassis.bus_redis import RedisBusConfig, RedisStreamsBus
from services.chassis.outbox import Hold
from services.chassis.outbox_drainer import Drainer, DrainerConfig
from services.chassis.postgres import Database
from services.chassis.valkey import ValkeyClient, ValkeyConfig
from services.cli.stack.valkey import ValkeyServer
from services.kernel import failpoint, tally
from services.kernel.failpoint import Action, Failpoint, FailpointError
from tests.outbox import Published, new_event, stage
from tests.postgres import FreshDatabase
from tests.servers import CreateDatabase
from tests.valkey import running

REPOSITORY = Path(__file__).parents[3]
PATIENCE = 20.0  # a signal that never comes fails the test instead of hanging it
T = TypeVar("T")
OPERATION = uuid.UUID(int=7)
TOO_LARGE = "x" * 2000

SMALL_EVENTS = RedisBusConfig(max_event_bytes=1000)
CONFIG = DrainerConfig(poll_seconds=60, max_attempts=3)

END_LEASES = "UPDATE outbox_shards SET lease_until = clock_timestamp() WHERE holder IS NOT NULL"
END_WAITS = "UPDATE event_outbox SET next_attempt_at = clock_timestamp() WHERE next_attempt_at IS NOT NULL"


@pytest.fixture
async def fresh(create_database: CreateDatabase) -> FreshDatabase:
    return await create_database("outbox")


@pytest.fixture
async def db(fresh: FreshDatabase) -> AsyncIterator[Database]:
    async with Database.open(fresh.service) as opened:
        yield opened


@pytest.fixture
def store(bus_valkey: ValkeyServer) -> ValkeyConfig:
    return ValkeyConfig(url=bus_valkey.url(), password=bus_valkey.password)


@pytest.fixture
async def client(store: ValkeyConfig) -> AsyncIterator[ValkeyClient]:
    async with valkey.connect(store) as opened:
        yield opened


@pytest.fixture
def published(client: ValkeyClient) -> Published:
    return Published(client=client)


@pytest.fixture
def drainer(db: Database, client: ValkeyClient) -> Drainer:
    return another_drainer(db, client)


def another_drainer(db: Database, client: ValkeyClient, config: DrainerConfig = CONFIG) -> Drainer:
    return Drainer(db, RedisStreamsBus(client, SMALL_EVENTS), "canopy-persons", config)


async def write(db: Database, sql: str) -> None:
    await db.transact("arrange", lambda tx: tx.execute(sql))


async def unpublished(db: Database) -> int:
    return await db.fetchval("SELECT count(*) FROM event_outbox WHERE published_at IS NULL")


async def soon(signal: Awaitable[T]) -> T:
    async with asyncio.timeout(PATIENCE):
        return await signal


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
    drainer = another_drainer(db, client, DrainerConfig(poll_seconds=60, batch=10))
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
        drainer = another_drainer(db, client)
        await server.stop()
        await stage(db, new_event(text="1"), new_event(text="2"))
        with failpoint.arm(Failpoint.OUTBOX_AFTER_CLAIM, noticed := Noticed(3), times=None):
            async with drainer.worker:
                await soon(noticed.enough.wait())
                assert drainer.worker.health.consecutive_failures > 0
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
    for _ in range(CONFIG.max_attempts):
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

    for _ in range(CONFIG.max_attempts):
        await drainer.drain_once()
        await write(db, END_WAITS)

    assert await published.texts() == ["1"]
    assert await db.fetchval("SELECT park_reason FROM event_outbox WHERE parked_at IS NOT NULL") == "undecodable"


async def test_drainer_that_lost_its_lease_marks_nothing(
    db: Database, client: ValkeyClient, drainer: Drainer, published: Published
) -> None:
    """MSH-12: marks compare the token of the claim, so a paused drainer cannot write over its successor's work."""
    await stage(db, new_event("person/a", "1"), new_event("person/b", TOO_LARGE))
    successor = another_drainer(db, client)

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


async def test_drainers_that_steal_from_each_other_keep_order_and_lose_nothing(
    db: Database, client: ValkeyClient, published: Published
) -> None:
    """MSH-12: over a history with stolen leases, first deliveries of a subject are in the order of its commits."""
    subjects = [f"person/{number}" for number in range(12)]
    thefts = Thefts(db, another_drainer(db, client, DrainerConfig(batch=4)))
    ended = Ended(db)
    drainers = [another_drainer(db, client, DrainerConfig(poll_seconds=0.05, batch=3, shards=5)) for _ in range(3)]

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


HISTORY = 15
EVENT_IDS = "SELECT event_id FROM event_outbox"


class Noticed:
    """A failpoint's behaviour that only counts; `enough` is set at the given number."""

    def __init__(self, number: int) -> None:
        self._left = number
        self.enough = asyncio.Event()

    async def __call__(self) -> None:
        self._left -= 1
        if self._left == 0:
            self.enough.set()


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


class Ended:
    """A failpoint's behaviour: sees that nothing is left to publish, once everything has been staged."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.expected = False
        self.seen = asyncio.Event()

    async def __call__(self) -> None:
        if self.expected and await unpublished(self._db) == 0:
            self.seen.set()


async def write_history(db: Database, subject: str, writer: int) -> None:
    """Stage events of a subject under its lock, as every writer that needs an order does."""
    for number in range(HISTORY):

        async def work(tx: outbox.Transaction, text: str = f"{writer}/{number}") -> None:
            await tx.fetch("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", subject)
            await outbox.stage(tx, new_event(subject, text))

        await db.transact("history", work)


async def killed_drainer(fresh: FreshDatabase, store: ValkeyConfig, point: Failpoint) -> int:
    """Drain in a process that kills itself at the point; return its exit code."""
    assert store.password is not None
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.integration.chassis.drainer_process",
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
