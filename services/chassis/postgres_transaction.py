"""What a closure sees of its transaction: statements, and nothing that could begin, end or outlive it."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Sequence
from typing import Any, TypeAlias, TypeVar

import asyncpg
import asyncpg.pool

from services.chassis.postgres_errors import DRIVER_ERRORS
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
        return await self._statement(self._open().execute(sql, *args))

    async def executemany(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Run a statement once per row of arguments, in one batch."""
        await self._statement(self._open().executemany(sql, rows))

    async def fetch(self, sql: str, *args: object) -> list[asyncpg.Record]:
        """Run a statement and return its rows."""
        return await self._statement(self._open().fetch(sql, *args))

    async def fetchrow(self, sql: str, *args: object) -> asyncpg.Record | None:
        """Run a statement and return its first row, or None."""
        return await self._statement(self._open().fetchrow(sql, *args))

    async def fetchval(self, sql: str, *args: object) -> Any:
        """Run a statement and return the first column of its first row, or None."""
        return await self._statement(self._open().fetchval(sql, *args))

    async def begin(self, sql: str) -> None:
        """Send BEGIN with its settings. For the owner of the transaction, not for closures."""
        await self._statement(self._connection.execute(sql), statements=0)

    async def rollback(self) -> None:
        """Roll back what is open; a connection that does not take it is terminated. For the owner."""
        try:
            if not is_lost(self._connection) and self._connection.is_in_transaction():
                tally.count(round_trips=1)
                await self._connection.execute("ROLLBACK")
        except DRIVER_ERRORS:
            self._connection.terminate()

    def close(self) -> None:
        """Refuse further statements. For the owner."""
        self._closed = True

    def _open(self) -> Connection:
        if self._closed:
            raise RuntimeError("the transaction has ended: await every statement inside the closure")
        return self._connection

    async def _statement(self, running: Awaitable[T], *, statements: int = 1) -> T:
        tally.count(statements=statements, round_trips=1)
        try:
            return await running
        except DRIVER_ERRORS as error:
            self.failure = error
            if isinstance(error, asyncpg.InterfaceError) and is_lost(self._connection):
                self.failure = asyncpg.ConnectionDoesNotExistError("the connection was lost between two statements")
                raise self.failure from error
            raise


def is_lost(connection: Connection) -> bool:
    """Tell whether the connection has ended; a lent one then answers every question with an InterfaceError."""
    try:
        return connection.is_closed()
    except asyncpg.InterfaceError:
        return True
