"""What becomes of a COMMIT: noticed when it rolled back, settled when its answer was lost."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import asyncpg
import pytest

from canopy.errors.v1.reason_pb2 import Reason
from services.chassis.postgres import Database, RolledBackError
from services.chassis.postgres_transaction import Transaction
from services.kernel import failpoint, tally
from services.kernel.errors import Refusal
from services.kernel.failpoint import Failpoint, FailpointError
from tests.integration.chassis.notes import NOTES, Notes, create_notes
from tests.postgres import FreshDatabase
from tests.servers import CreateDatabase
from tests.wire import Cut, wired

WAIT_AT_COMMIT = """
CREATE FUNCTION wait_for_42() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN PERFORM pg_advisory_xact_lock(42); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER wait_at_commit AFTER INSERT ON notes
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait_for_42();
"""

SESSIONS_AT_WORK = """
SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND application_name = 'canopy' AND query <> ''
"""


@pytest.fixture
async def fresh(create_database: CreateDatabase) -> FreshDatabase:
    fresh = await create_database()
    await create_notes(fresh)
    return fresh


async def test_a_swallowed_error_is_noticed_at_commit(fresh: FreshDatabase) -> None:
    """FIN-23: PostgreSQL answers the COMMIT of a failed transaction by ROLLBACK; that is an error, never a success."""

    async def work(tx: Transaction) -> str:
        await tx.execute("INSERT INTO notes (id, text) VALUES (1, 'kept?')")
        try:
            await tx.execute("INSERT INTO notes (id, text) VALUES (1, 'twice')")
        except asyncpg.UniqueViolationError:
            return "all is well"
        return "unreachable"

    async with Database.open(fresh.service) as db:
        with pytest.raises(RolledBackError) as raised:
            await db.transact("swallow", work)

        assert isinstance(raised.value.__cause__, asyncpg.UniqueViolationError)
        assert await Notes(db).texts() == []


async def test_a_deferred_constraint_refuses_the_commit(fresh: FreshDatabase) -> None:
    """FIN-22: an error that answers the COMMIT leaves no doubt: nothing is read again, the error is passed on."""

    async def work(tx: Transaction) -> None:
        await tx.execute("INSERT INTO note_links (note_id) VALUES (7)")

    async with Database.open(fresh.service) as db:
        with pytest.raises(asyncpg.ForeignKeyViolationError):
            await db.transact("deferred", work, reread=_must_not_reread)


@pytest.mark.parametrize(("cut", "runs"), [(Cut.ANSWER, 1), (Cut.REQUEST, 2)])
async def test_a_lost_commit_is_settled_by_reading_again(fresh: FreshDatabase, cut: Cut, runs: int) -> None:
    """FIN-22: the row decides. Committed: its value is the answer. Not committed: the closure runs again."""
    attempts = 0

    async def work(tx: Transaction) -> str:
        nonlocal attempts
        attempts += 1
        return await tx.fetchval(NOTES.insert, 1, f"attempt {attempts}")

    async with wired(fresh.service) as (wire, through_wire), Database.open(through_wire) as db:
        await db.ping()
        wire.cut = cut
        with tally.tally() as counted:
            text = await db.transact("insert", work, reread=lambda tx: tx.fetchval(NOTES.lock, 1))

        assert wire.cuts == 1
        assert text == f"attempt {runs}"
        assert attempts == runs
        assert counted.commits == 1
        assert await Notes(db).texts() == [f"attempt {runs}"]


async def test_a_lost_commit_without_reread_is_unknown(fresh: FreshDatabase) -> None:
    """FIN-22: who cannot read again says so, and claims neither success nor failure."""
    async with wired(fresh.service) as (wire, through_wire), Database.open(through_wire) as db:
        wire.cut = Cut.ANSWER
        with pytest.raises(Refusal) as refused:
            await db.transact("insert", lambda tx: tx.execute(NOTES.insert, 1, "there"))

        assert refused.value.reason == Reason.REASON_COMMIT_UNKNOWN
        assert await Notes(db).texts() == ["there"]


async def test_a_lost_commit_that_cannot_be_read_again_is_unknown(fresh: FreshDatabase) -> None:
    """FIN-22: a database that stays out of reach leaves the outcome unknown."""
    async with wired(replace(fresh.service, settle_seconds=0.2)) as (wire, through_wire):
        async with Database.open(through_wire) as db:

            async def work(tx: Transaction) -> str:
                wire.cut = Cut.ANSWER
                wire.refusing = True
                return await tx.fetchval(NOTES.insert, 1, "there")

            with pytest.raises(Refusal) as refused:
                await db.transact("insert", work, reread=lambda tx: tx.fetchval(NOTES.lock, 1))

        assert refused.value.reason == Reason.REASON_COMMIT_UNKNOWN
    async with Database.open(fresh.service) as db:
        assert await Notes(db).texts() == ["there"]


async def test_a_commit_still_under_way_is_waited_for(fresh: FreshDatabase) -> None:
    """FIN-22: while the old session may still commit, an absent row proves nothing: it is read when that has ended."""
    async with fresh.as_owner() as owner:
        await owner.execute(WAIT_AT_COMMIT)
    attempts = 0

    async def work(tx: Transaction) -> str:
        nonlocal attempts
        attempts += 1
        return await tx.fetchval(NOTES.insert, 1, "once")

    async def let_it_commit_once_it_is_looked_for(admin: asyncpg.Connection) -> None:
        while (await admin.fetchval(SESSIONS_AT_WORK, fresh.name) or 0) < 2:  # noqa: ASYNC110 -- the wait is in the server
            await asyncio.sleep(0.01)
        await admin.execute("SELECT pg_advisory_unlock(42)")

    async with (
        fresh.as_admin() as admin,
        wired(fresh.service) as (wire, through_wire),
        Database.open(through_wire) as db,
        asyncio.TaskGroup() as tasks,
    ):
        await admin.execute("SELECT pg_advisory_lock(42)")
        tasks.create_task(let_it_commit_once_it_is_looked_for(admin))
        wire.cut = Cut.MIDWAY
        text = await db.transact("insert", work, reread=lambda tx: tx.fetchval(NOTES.lock, 1))

    assert text == "once"
    assert attempts == 1


async def test_a_session_ended_during_commit_is_settled_too(fresh: FreshDatabase) -> None:
    """FIN-22: the server's farewell (57P01) in place of an answer is no answer, though it is not a lost connection."""
    async with fresh.as_owner() as owner:
        await owner.execute(WAIT_AT_COMMIT)

    async def end_the_committing_session(admin: asyncpg.Connection) -> None:
        while not await admin.fetchval(  # noqa: ASYNC110 -- the wait is in the server
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        ):
            await asyncio.sleep(0.01)
        await admin.execute("SELECT pg_advisory_unlock(42)")

    async with fresh.as_admin() as admin, Database.open(fresh.service) as db, asyncio.TaskGroup() as tasks:
        await admin.execute("SELECT pg_advisory_lock(42)")
        tasks.create_task(end_the_committing_session(admin))
        text = await db.transact(
            "insert", lambda tx: tx.fetchval(NOTES.insert, 1, "once"), reread=lambda tx: tx.fetchval(NOTES.lock, 1)
        )

        assert text == "once"
        assert await Notes(db).texts() == ["once"]


async def test_a_session_ended_before_commit_is_not_ambiguous(fresh: FreshDatabase) -> None:
    """FIN-22: a COMMIT that cannot be sent is known to have done nothing."""

    async def end_the_session() -> None:
        async with fresh.as_admin() as admin:
            await admin.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                " WHERE datname = $1 AND state = 'idle in transaction'",
                fresh.name,
            )

    async with Database.open(fresh.service) as db:
        failpoint.arm(Failpoint.DB_BEFORE_COMMIT, end_the_session)
        with pytest.raises(Refusal) as refused:
            await db.transact("insert", lambda tx: tx.execute(NOTES.insert, 1, "never"), reread=_must_not_reread)

        assert refused.value.reason == Reason.REASON_UPSTREAM_UNAVAILABLE
        assert await Notes(db).texts() == []


async def test_an_error_before_commit_is_not_ambiguous(fresh: FreshDatabase) -> None:
    """FIN-22: a connection lost before COMMIT was sent did nothing: refused as unavailable, nothing read again."""

    async def work(tx: Transaction) -> None:
        await tx.execute(NOTES.insert, 1, "never")
        async with fresh.as_admin() as admin:
            pid = await tx.fetchval("SELECT pg_backend_pid()")
            await admin.execute("SELECT pg_terminate_backend($1, 5000)", pid)
        await tx.execute(NOTES.insert, 2, "never")

    async with Database.open(fresh.service) as db:
        with pytest.raises(Refusal) as refused:
            await db.transact("cut", work, reread=_must_not_reread)

        assert refused.value.reason == Reason.REASON_UPSTREAM_UNAVAILABLE
        assert await Notes(db).texts() == []


@pytest.mark.parametrize(("point", "texts"), [(Failpoint.DB_BEFORE_COMMIT, []), (Failpoint.DB_AFTER_COMMIT, ["there"])])
async def test_failpoints_lie_on_both_sides_of_the_commit(
    fresh: FreshDatabase, point: Failpoint, texts: list[str]
) -> None:
    """FIN-26: the two points of every commit are where their names say."""
    async with Database.open(fresh.service) as db:
        failpoint.arm(point, failpoint.Action.RAISE)
        with pytest.raises(FailpointError):
            await db.transact("insert", lambda tx: tx.execute(NOTES.insert, 1, "there"))

        assert await Notes(db).texts() == texts


async def _must_not_reread(_tx: Transaction) -> None:
    raise AssertionError("nothing was in doubt")
