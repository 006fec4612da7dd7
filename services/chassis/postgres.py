"""PostgreSQL for a service: two pools, one way to run a transaction, and reads of one statement.

Every write goes through `Database.transact`, which keeps what callers would otherwise each have to remember:
the isolation level is stated, a rolled-back COMMIT is an error, a caller that goes away cuts nothing, deadlocks are
run again, and a lost answer of COMMIT is settled by reading again instead of by guessing (FIN-22, FIN-23).

Sessions carry no state between uses, so a connection returns to its pool without a reset round trip: use SET LOCAL and
the transaction-level advisory locks only.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from enum import Enum
from typing import Any, Final, TypeVar

import asyncpg

from canopy.errors.v1.reason_pb2 import Reason
from services.chassis import postgres_errors
from services.chassis.postgres_config import DatabaseConfig, begin_statement, connect_options
from services.chassis.postgres_settle import Reread, read_again
from services.chassis.postgres_transaction import Connection, Transaction, TransactionControl, round_trip
from services.chassis.shielded import Shielded
from services.kernel import failpoint, tally
from services.kernel.errors import Refusal, label
from services.kernel.failpoint import Failpoint
from services.kernel.transaction import open_transaction

T = TypeVar("T")

RETRIES: Final = 5
_FIRST_PAUSE_SECONDS: Final = 0.01
_LONGEST_PAUSE_SECONDS: Final = 0.5
_CLOSE_SECONDS: Final = 5.0

_log: Final = logging.getLogger(__name__)
_random: Final = random.SystemRandom()


class Lane(Enum):
    """Which pool serves a piece of work, so that short urgent work never queues behind long work."""

    CONTROL = "control"
    BULK = "bulk"


class NestedTransactionError(Exception):
    """The database was asked for a second connection inside a transaction: a deadlock of the pool in waiting."""


class RolledBackError(Exception):
    """COMMIT answered ROLLBACK: a statement had failed and the closure swallowed its error."""


class _RunAgainError(Exception):
    """This run left nothing and the closure may run again; the cause says why."""


class _CommitUnknownError(Exception):
    """The answer of COMMIT was lost. server_pid: of the session whose end must be awaited."""

    def __init__(self, server_pid: int) -> None:
        super().__init__()
        self.server_pid: Final = server_pid


class Database:
    """The database of one service. Safe to share between tasks of one event loop."""

    def __init__(self, config: DatabaseConfig, pools: Mapping[Lane, asyncpg.Pool]) -> None:
        self._config: Final = config
        self._pools: Final = pools
        self._shielded: Final = Shielded(drain_seconds=config.drain_seconds)

    @classmethod
    @asynccontextmanager
    async def open(cls, config: DatabaseConfig) -> AsyncIterator[Database]:
        """Open the pools; connections are made when first needed, so an absent server shows at `ping`.

        On exit running transactions are drained and every connection is closed.
        """
        sizes = {Lane.CONTROL: config.control_pool_size, Lane.BULK: config.bulk_pool_size}
        options = connect_options(config)
        async with contextlib.AsyncExitStack() as stack:
            pools: dict[Lane, asyncpg.Pool] = {}
            for lane, size in sizes.items():
                pools[lane] = await asyncpg.create_pool(config.dsn, min_size=0, max_size=size, reset=_keep, **options)
                stack.push_async_callback(_close, pools[lane])
            database = cls(config, pools)
            stack.push_async_callback(database.drain)
            yield database

    async def transact(
        self,
        name: str,
        work: Callable[[Transaction], Awaitable[T]],
        *,
        lane: Lane = Lane.BULK,
        reread: Reread[T] | None = None,
        lock_timeout: float | None = None,
    ) -> T:
        """Run `work` in one READ COMMITTED transaction and return its value once the commit is certain.

        name: for logs, constant per place, such as "drafts.save". work: may run several times (deadlock, lost commit),
        so it has no effect outside the transaction. reread: after a lost answer of COMMIT, run in a new transaction on
        a new connection; it takes the same row locks as `work` and returns the committed value, or None when nothing
        was committed (`work` must then not return None either). lock_timeout: seconds, instead of the configured one.

        The transaction runs to its end even when the caller is cancelled. Raises what `work` raises; Refusal with
        REASON_OVERLOADED or REASON_UPSTREAM_UNAVAILABLE when nothing was done, REASON_COMMIT_UNKNOWN when that could
        not be found out; RolledBackError; NestedTransactionError.
        """
        self._refuse_nested(name)
        lock_seconds = self._config.lock_seconds if lock_timeout is None else lock_timeout
        return await self._shielded.run(lambda: self._run(name, work, lane, reread, lock_seconds), transaction=name)

    async def fetch(self, sql: str, *args: object, lane: Lane = Lane.BULK) -> list[asyncpg.Record]:
        """Run one statement on its own (autocommit, one round trip) and return its rows. For reads; see `transact`."""
        return await self._alone(lane, lambda connection: connection.fetch(sql, *args))

    async def fetchrow(self, sql: str, *args: object, lane: Lane = Lane.BULK) -> asyncpg.Record | None:
        """Like `fetch`; the first row, or None."""
        return await self._alone(lane, lambda connection: connection.fetchrow(sql, *args))

    async def fetchval(self, sql: str, *args: object, lane: Lane = Lane.BULK) -> Any:
        """Like `fetch`; the first column of the first row, or None."""
        return await self._alone(lane, lambda connection: connection.fetchval(sql, *args))

    async def ping(self) -> None:
        """Return if the database answers on the control lane; raise the Refusal that a call would get if not."""
        await self.fetchval("SELECT 1", lane=Lane.CONTROL)

    async def drain(self) -> None:
        """Refuse new transactions and wait for the running ones; those over the configured limit are cut."""
        await self._shielded.drain()

    async def _run(
        self,
        name: str,
        work: Callable[[Transaction], Awaitable[T]],
        lane: Lane,
        reread: Reread[T] | None,
        lock_seconds: float,
    ) -> T:
        """Run attempts until one settles. This task's own context says that a transaction is open."""
        open_transaction.set(name)
        begin = begin_statement(self._config, lock_seconds)
        for attempt in range(RETRIES + 1):
            if attempt:
                ceiling = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2**attempt)
                await asyncio.sleep(_random.uniform(0, ceiling))
            try:
                value = await self._attempt(name, work, lane, begin)
            except _RunAgainError as again:
                facts = {"transaction": name, "error": label(again.__cause__ or again)}
                _log.info("transaction runs again", extra=facts)
                continue
            except _CommitUnknownError as unknown:
                _log.warning("answer of COMMIT lost: reading again", extra={"transaction": name})
                settled = await self._settle(begin, reread, unknown)
                if settled is None:
                    continue
                value = settled
            tally.count(commits=1)
            return value
        raise Refusal(Reason.REASON_OVERLOADED)

    async def _attempt(self, name: str, work: Callable[[Transaction], Awaitable[T]], lane: Lane, begin: str) -> T:
        """BEGIN, work, COMMIT on one connection; whatever happens, the connection goes back clean or not at all."""
        async with self._connection(lane) as connection:
            control = TransactionControl(connection)
            transaction = control.statements
            try:
                server_pid = await control.begin(begin)
                value = await work(transaction)
            except Exception as error:
                await control.rollback()
                if (meaning := _meaning(error, transaction.failure)) is not None:
                    raise meaning from error
                raise
            finally:
                transaction.close()
            try:
                await failpoint.reach(Failpoint.DB_BEFORE_COMMIT)
                tag = await control.commit()
                await failpoint.reach(Failpoint.DB_AFTER_COMMIT)
            except Exception as error:
                if postgres_errors.leaves_commit_unknown(error):
                    control.abandon()
                    raise _CommitUnknownError(server_pid) from error
                await control.rollback()
                if (meaning := _meaning(error, error)) is not None:
                    raise meaning from error
                raise
        if tag == "COMMIT":
            return value
        if postgres_errors.is_retryable(transaction.failure):
            raise _RunAgainError from transaction.failure
        raise RolledBackError(f"transaction {name} swallowed the error of a statement") from transaction.failure

    async def _settle(self, begin: str, reread: Reread[T] | None, unknown: _CommitUnknownError) -> T | None:
        """Find out what a lost COMMIT did: the committed value, or None. Raises Refusal(REASON_COMMIT_UNKNOWN)."""
        if reread is None:
            raise Refusal(Reason.REASON_COMMIT_UNKNOWN) from unknown
        try:
            async with asyncio.timeout(self._config.settle_seconds):
                return await read_again(
                    lambda: asyncpg.connect(self._config.dsn, **connect_options(self._config)),
                    begin,
                    reread,
                    unknown.server_pid,
                )
        except postgres_errors.STATEMENT_ERRORS as error:
            raise Refusal(Reason.REASON_COMMIT_UNKNOWN) from error

    async def _alone(self, lane: Lane, statement: Callable[[Connection], Awaitable[T]]) -> T:
        self._refuse_nested("a single statement")
        async with self._connection(lane) as connection:
            tally.count(statements=1)
            with postgres_errors.refusing():
                return await round_trip(connection, statement)

    @asynccontextmanager
    async def _connection(self, lane: Lane) -> AsyncIterator[Connection]:
        """Lend a connection. One that is still in a transaction at the end is thrown away."""
        pool = self._pools[lane]
        try:
            with postgres_errors.refusing():
                connection = await pool.acquire(timeout=self._config.acquire_seconds)
        except Refusal as refusal:
            queued = pool.get_size() >= pool.get_max_size() and pool.get_idle_size() == 0
            if queued and isinstance(refusal.__cause__, TimeoutError):
                raise Refusal(Reason.REASON_OVERLOADED) from refusal.__cause__
            raise
        try:
            yield connection
        finally:
            with contextlib.suppress(asyncpg.InterfaceError):  # it was terminated: the pool has dropped it already
                if connection.is_in_transaction():
                    connection.terminate()
            await pool.release(connection)

    def _refuse_nested(self, name: str) -> None:
        outer = open_transaction.get()
        if outer is not None:
            raise NestedTransactionError(f"{name} inside the transaction {outer}")


def _meaning(error: Exception, failure: BaseException | None) -> Exception | None:
    """Choose what to raise for `error`, given the failure of the statement behind it; None: the error itself."""
    if postgres_errors.is_retryable(failure):
        return _RunAgainError()
    return postgres_errors.refusal_of(error) if error is failure else None


async def _keep(_connection: object) -> None:
    """Leave a returned connection as it is: nothing that a reset would undo is ever done to it."""


async def _close(pool: asyncpg.Pool) -> None:
    try:
        async with asyncio.timeout(_CLOSE_SECONDS):
            await pool.close()
    except TimeoutError:
        pool.terminate()
