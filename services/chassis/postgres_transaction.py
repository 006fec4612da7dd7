"""What a closure sees of its transaction: statements, and nothing that could begin, end or outlive it."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, TypeVar

import asyncpg
import asyncpg.pool

from services.chassis.postgres_errors import STATEMENT_ERRORS, SessionEndedError
from services.kernel import tally

T = TypeVar("T")
Connection: TypeAlias = asyncpg.Connection | asyncpg.pool.PoolConnectionProxy


class Transaction:
    """An open transaction. Use it from one task at a time; after the closure has returned it refuses statements."""

    __slots__ = ("_closed", "_connection", "failure")

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._closed = False
        self.failure: BaseException | None = None  # of the last statement that failed, swallowed or not

    async def execute(self, sql: str, *args: object) -> str:
        """Run a statement and return its command tag, for example "UPDATE 1"."""
        return await self._statement(lambda connection: connection.execute(sql, *args))

    async def fetch(self, sql: str, *args: object) -> list[asyncpg.Record]:
        """Run a statement and return its rows."""
        return await self._statement(lambda connection: connection.fetch(sql, *args))

    async def fetchrow(self, sql: str, *args: object) -> asyncpg.Record | None:
        """Run a statement and return its first row, or None."""
        return await self._statement(lambda connection: connection.fetchrow(sql, *args))

    async def fetchval(self, sql: str, *args: object) -> Any:
        """Run a statement and return the first column of its first row, or None."""
        return await self._statement(lambda connection: connection.fetchval(sql, *args))

    def close(self) -> None:
        """Refuse further statements."""
        self._closed = True

    async def _statement(self, run: Callable[[Connection], Awaitable[T]]) -> T:
        if self._closed:
            raise RuntimeError("the transaction has ended: await every statement inside the closure")
        tally.count(statements=1)
        try:
            return await round_trip(self._connection, run)
        except STATEMENT_ERRORS as error:
            self.failure = error
            raise


class TransactionControl:
    """Begins and ends a transaction. Kept by its owner; closures get `statements`."""

    __slots__ = ("_connection", "statements")

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.statements = Transaction(connection)

    async def begin(self, sql: str) -> int:
        """Send BEGIN with its settings; return the server's process id of the session."""
        try:
            await round_trip(self._connection, lambda connection: connection.execute(sql))
        except STATEMENT_ERRORS as error:
            self.statements.failure = error
            raise
        return self._connection.get_server_pid()

    async def commit(self) -> str:
        """Send COMMIT and return the command tag, which is "ROLLBACK" when a statement had failed."""
        return await round_trip(self._connection, lambda connection: connection.execute("COMMIT"))

    async def rollback(self) -> None:
        """Roll back what is open; a connection that does not take it is given up."""
        try:
            if self._connection.is_in_transaction():
                await round_trip(self._connection, lambda connection: connection.execute("ROLLBACK"))
        except STATEMENT_ERRORS:
            self.abandon()

    def abandon(self) -> None:
        """End the session without a word; the server rolls back what is open."""
        with contextlib.suppress(asyncpg.InterfaceError):  # it was lost, and its pool has dropped it already
            self._connection.terminate()


async def round_trip(connection: Connection, run: Callable[[Connection], Awaitable[T]]) -> T:
    """Run one exchange. Raises SessionEndedError when the connection was gone before anything was sent."""
    tally.count(round_trips=1)
    try:
        return await run(connection)
    except asyncpg.InterfaceError as error:
        if _is_gone(connection):
            raise SessionEndedError from error
        raise


def _is_gone(connection: Connection) -> bool:
    try:
        return connection.is_closed()
    except asyncpg.InterfaceError:  # a lent connection that was lost has returned to its pool and answers nothing
        return True
