"""Transactions as a service runs them: isolation, retries, cancellation, overload, nesting, draining, counting."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import asyncpg
import pytest

from canopy.errors.v1.reason_pb2 import Reason
from services.chassis.postgres import Database, Lane, NestedTransactionError
from services.chassis.postgres_transaction import Transaction
from services.cli.stack.process import free_port
from services.kernel import failpoint, tally
from services.kernel.errors import Refusal
from services.kernel.failpoint import Action, Failpoint
from services.kernel.transaction import open_transaction
from tests.integration.chassis.notes import NOTES, Notes, create_notes
from tests.postgres import FreshDatabase
from tests.servers import CreateDatabase


@pytest.fixture
async def fresh(create_database: CreateDatabase) -> FreshDatabase:
    fresh = await create_database()
    await create_notes(fresh)
    return fresh


async def test_a_cancelled_caller_does_not_cut_the_transaction(fresh: FreshDatabase) -> None:
    """FIN-23: a client that goes away, or whose deadline passes, leaves a transaction that runs to its end."""
    async with Database.open(fresh.service) as db:
        with failpoint.arm(Failpoint.DB_BEFORE_COMMIT, Action.PAUSE) as pause:
            caller = asyncio.create_task(db.transact("insert", lambda tx: tx.execute(NOTES.insert, 1, "kept")))
            await pause.reached()
            caller.cancel()
            with pytest.raises(asyncio.CancelledError):
                await caller
            assert await Notes(db).texts() == []
            pause.resume()

        await db.drain()

        assert await Notes(db).texts() == ["kept"]


async def test_the_failure_of_an_abandoned_transaction_is_logged_by_type(
    fresh: FreshDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    """FIN-23: nobody waits for its error any more, so the log holds its type, never its text."""

    async def work(tx: Transaction) -> None:
        await tx.execute(NOTES.insert, 1, "secret-text")
        await failpoint.reach(Failpoint.PERSONS_AFTER_ENTITY)
        raise ValueError("secret-text")

    async with Database.open(fresh.service) as db:
        with failpoint.arm(Failpoint.PERSONS_AFTER_ENTITY, Action.PAUSE) as pause:
            caller = asyncio.create_task(db.transact("insert", work))
            await pause.reached()
            caller.cancel()
            with pytest.raises(asyncio.CancelledError):
                await caller
        await db.drain()
        await asyncio.sleep(0)

    (record,) = [each for each in caplog.records if each.message == "work failed after its caller had gone"]
    assert (vars(record)["transaction"], vars(record)["error"]) == ("insert", "ValueError")
    assert "secret-text" not in caplog.text


async def test_a_deadlock_is_run_again(fresh: FreshDatabase) -> None:
    """FIN-23: of two transactions that lock in opposite orders PostgreSQL ends one; its whole closure runs again."""
    both_hold_one = asyncio.Barrier(2)
    runs = 0

    def crossing(first: int, second: int) -> Callable[[Transaction], Awaitable[None]]:
        met = False

        async def work(tx: Transaction) -> None:
            nonlocal met, runs
            runs += 1
            await tx.execute(NOTES.update, first, f"by {first}{second}")
            if not met:
                met = True
                await both_hold_one.wait()
            await tx.execute(NOTES.update, second, f"by {first}{second}")

        return work

    async with Database.open(fresh.service) as db:
        await db.transact("seed", lambda tx: tx.execute("INSERT INTO notes VALUES (1, 'a'), (2, 'b')"))
        await asyncio.gather(db.transact("one", crossing(1, 2)), db.transact("two", crossing(2, 1)))

        assert runs == 3
        assert len(set(await Notes(db).texts())) == 1


async def test_a_swallowed_deadlock_is_run_again_too(fresh: FreshDatabase) -> None:
    """FIN-23: a closure that turns a serialization failure into an answer of its own does not decide with it."""
    runs = 0

    async def work(tx: Transaction) -> int:
        nonlocal runs
        runs += 1
        if runs == 1:
            try:
                await tx.execute("DO $$ BEGIN RAISE EXCEPTION 'made up' USING ERRCODE = '40001'; END $$")
            except asyncpg.SerializationError:
                return -1
        return runs

    async with Database.open(fresh.service) as db:
        assert await db.transact("swallow", work) == 2


async def test_retries_end_in_a_refusal(fresh: FreshDatabase) -> None:
    """FIN-23: a conflict that does not end is refused as overload after six runs; nothing was done."""
    runs = 0

    async def work(tx: Transaction) -> None:
        nonlocal runs
        runs += 1
        await tx.execute("DO $$ BEGIN RAISE EXCEPTION 'made up' USING ERRCODE = '40P01'; END $$")

    async with Database.open(fresh.service) as db:
        with pytest.raises(Refusal) as refused:
            await db.transact("conflict", work)

    assert refused.value.reason == Reason.REASON_OVERLOADED
    assert runs == 6


async def test_isolation_is_stated_whatever_the_server_defaults_to(fresh: FreshDatabase) -> None:
    """FIN-05: under a default of REPEATABLE READ the locking reads of finalize would fail; it never applies."""
    async with fresh.as_admin() as admin:
        await admin.execute(f"ALTER DATABASE {fresh.name} SET default_transaction_isolation = 'repeatable read'")
        await admin.execute(f"ALTER DATABASE {fresh.name} SET default_transaction_read_only = on")
    async with fresh.as_owner() as owner:
        assert await owner.fetchval("SHOW transaction_isolation") == "repeatable read"

    async def work(tx: Transaction) -> str:
        await tx.execute(NOTES.insert, 1, "written")
        return await tx.fetchval("SHOW transaction_isolation")

    async with Database.open(fresh.service) as db:
        assert await db.transact("isolation", work) == "read committed"


async def test_a_commit_is_on_disk_whatever_the_server_defaults_to(fresh: FreshDatabase) -> None:
    """FIN-22: a server set to answer COMMIT before it is durable would lose filings whose receipt is out."""
    async with fresh.as_admin() as admin:
        await admin.execute(f"ALTER DATABASE {fresh.name} SET synchronous_commit = 'off'")

    async def work(tx: Transaction) -> str:
        return await tx.fetchval("SHOW synchronous_commit")

    async with Database.open(fresh.service) as db:
        assert await db.transact("durable", work) == "on"


async def test_limits_are_set_for_the_transaction(fresh: FreshDatabase) -> None:
    """FIN-07: no lock is waited for, no statement and no transaction runs, without a limit."""

    async def work(tx: Transaction) -> list[str]:
        names = ("lock_timeout", "statement_timeout", "transaction_timeout", "idle_in_transaction_session_timeout")
        return [await tx.fetchval(f"SHOW {name}") for name in names]

    async with Database.open(fresh.service) as db:
        assert await db.transact("limits", work) == ["5s", "10s", "30s", "10s"]
        assert (await db.transact("limits", work, lock_timeout=0.25))[0] == "250ms"
        assert (await db.transact("limits", work))[0] == "5s"


async def test_a_lock_that_is_held_too_long_is_refused_as_overload(fresh: FreshDatabase) -> None:
    """FIN-07: waiting for a lock ends in a refusal that says nothing was done."""
    async with Database.open(fresh.service) as db:
        await db.transact("seed", lambda tx: tx.execute(NOTES.insert, 1, "a"))
        with failpoint.arm(Failpoint.DB_BEFORE_COMMIT, Action.PAUSE) as pause:
            holder = asyncio.create_task(db.transact("hold", lambda tx: tx.execute(NOTES.update, 1, "held")))
            await pause.reached()
            with pytest.raises(Refusal) as refused:
                await db.transact("wait", lambda tx: tx.execute(NOTES.update, 1, "never"), lock_timeout=0.05)
        await holder

        assert refused.value.reason == Reason.REASON_OVERLOADED
        assert await Notes(db).texts() == ["held"]


async def test_an_exhausted_pool_is_refused_as_overload_and_leaves_the_other_lane_free(fresh: FreshDatabase) -> None:
    """FIN-07: bulk work that fills its pool is refused in bounded time, and control work passes it by."""
    async with Database.open(replace(fresh.service, bulk_pool_size=1, acquire_seconds=0.1)) as db:
        with failpoint.arm(Failpoint.DB_BEFORE_COMMIT, Action.PAUSE) as pause:
            holder = asyncio.create_task(db.transact("hold", lambda tx: tx.execute(NOTES.insert, 1, "held")))
            await pause.reached()
            with pytest.raises(Refusal) as refused:
                await db.transact("queue", lambda tx: tx.execute(NOTES.insert, 2, "never"))
            await db.transact("pass", lambda tx: tx.execute(NOTES.insert, 3, "passed"), lane=Lane.CONTROL)
        await holder

        assert refused.value.reason == Reason.REASON_OVERLOADED
        assert await Notes(db).texts() == ["held", "passed"]


async def test_an_absent_database_is_refused_as_unavailable(fresh: FreshDatabase) -> None:
    """FIN-22: a connection that is refused did nothing, and the refusal says so."""
    nowhere = replace(fresh.service, dsn=f"postgresql://canopy_test@127.0.0.1:{free_port()}/none?sslmode=disable")
    async with Database.open(nowhere) as db:
        for call in (db.ping(), db.transact("insert", lambda tx: tx.execute("SELECT 1"))):
            with pytest.raises(Refusal) as refused:
                await call
            assert refused.value.reason == Reason.REASON_UPSTREAM_UNAVAILABLE


@pytest.mark.parametrize("in_a_task", [False, True])
async def test_a_second_connection_inside_a_transaction_is_refused(fresh: FreshDatabase, in_a_task: bool) -> None:
    """FIN-07: a pool of two and two transactions that each want a second connection wait for ever; nobody may ask."""
    async with Database.open(fresh.service) as db:

        async def nested(_tx: Transaction) -> None:
            assert open_transaction.get() == "outer"
            inner = (
                db.transact("inner", lambda tx: tx.execute("SELECT 1")),
                db.fetchval("SELECT 1"),
            )
            for call in inner:
                with pytest.raises(NestedTransactionError, match="inside the transaction outer"):
                    await (asyncio.create_task(call) if in_a_task else call)

        await db.transact("outer", nested)
        assert open_transaction.get() is None


async def test_a_statement_after_the_end_is_refused(fresh: FreshDatabase) -> None:
    """FIN-23: a handle kept beyond its closure cannot write into the transaction of the next borrower."""
    kept: list[Transaction] = []

    async def work(tx: Transaction) -> None:
        kept.append(tx)

    async with Database.open(fresh.service) as db:
        await db.transact("keep", work)
        with pytest.raises(RuntimeError, match="has ended"):
            await kept[0].execute(NOTES.insert, 1, "stray")


async def test_drain_waits_then_cuts_and_refuses_newcomers(fresh: FreshDatabase) -> None:
    """FIN-23: a stop lets running transactions end within its bound; what is cut later was rolled back."""
    async with Database.open(replace(fresh.service, drain_seconds=0.05)) as db:
        hang = failpoint.arm(Failpoint.DB_BEFORE_COMMIT, Action.HANG)
        caller = asyncio.create_task(db.transact("hang", lambda tx: tx.execute(NOTES.insert, 1, "never")))
        await hang.reached()
        await db.drain()
        with pytest.raises(asyncio.CancelledError):
            await caller

        with pytest.raises(Refusal) as refused:
            await db.transact("late", lambda tx: tx.execute(NOTES.insert, 2, "never"))

        assert refused.value.reason == Reason.REASON_UPSTREAM_UNAVAILABLE
        assert await Notes(db).texts() == []


async def test_a_transaction_costs_two_round_trips_more_than_its_statements(fresh: FreshDatabase) -> None:
    """FIN-18: the cost of the seam is counted, and a retried or background run does not hide in it."""

    async def work(tx: Transaction) -> None:
        await tx.execute(NOTES.insert, 1, "a")
        await tx.fetchval(NOTES.lock, 1)

    async def in_the_background() -> None:
        with tally.uncounted():
            await db.fetchval("SELECT 1")

    async with Database.open(fresh.service) as db:
        with tally.tally() as counted:
            await db.transact("two", work)
            await db.fetchval("SELECT 1")
            await in_the_background()

    assert counted == tally.Tally(commits=1, rpcs=0, statements=3, round_trips=5)


async def test_connections_return_clean_without_a_reset(fresh: FreshDatabase) -> None:
    """FIN-23: a failed transaction leaves nothing open, and its limits do not reach the next user of the connection."""
    async with Database.open(replace(fresh.service, bulk_pool_size=1)) as db:
        pid = await db.fetchval("SELECT pg_backend_pid()")
        with pytest.raises(asyncpg.DivisionByZeroError):
            await db.transact("fail", lambda tx: tx.execute("SELECT 1/0"), lock_timeout=0.25)

        row = await db.fetchrow("SELECT pg_backend_pid() AS pid, current_setting('lock_timeout') AS lock_timeout")
        assert row is not None
        assert (row["pid"], row["lock_timeout"]) == (pid, "5s")
