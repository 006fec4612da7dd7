"""Finding out what a COMMIT did whose answer was lost (FIN-22)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias, TypeVar

import asyncpg

from services.chassis.postgres_errors import STATEMENT_ERRORS, refusal_of
from services.chassis.postgres_transaction import Transaction, TransactionControl

T = TypeVar("T")
Reread: TypeAlias = Callable[[Transaction], Awaitable[T | None]]

_PAUSE_SECONDS: Final = 0.05

SESSION_LIVES: Final = """
SELECT EXISTS (
  SELECT FROM pg_stat_activity
   WHERE pid = $1                    -- integer, of the session that sent the COMMIT
     AND datname = current_database()
     AND usename = current_user
)
"""


async def read_again(
    connect: Callable[[], Awaitable[asyncpg.Connection]],
    begin: str,
    reread: Reread[T],
    server_pid: int,
) -> T | None:
    """Wait until the old session has ended, then run `reread` in a transaction of its own, which is rolled back.

    Only then is its answer final: while the old session lives, its COMMIT may still be under way. A database that
    does not answer, or is overloaded, is asked again, so the caller bounds the time; other errors are passed on.
    """
    while True:
        try:
            connection = await connect()
        except STATEMENT_ERRORS:
            await asyncio.sleep(_PAUSE_SECONDS)
            continue
        control = TransactionControl(connection)
        try:
            while await connection.fetchval(SESSION_LIVES, server_pid):  # noqa: ASYNC110 -- it is in another process
                await asyncio.sleep(_PAUSE_SECONDS)
            await control.begin(begin)
            return await reread(control.statements)
        except STATEMENT_ERRORS as error:
            if refusal_of(error) is None:
                raise
            await asyncio.sleep(_PAUSE_SECONDS)
        finally:
            control.statements.close()
            connection.terminate()
