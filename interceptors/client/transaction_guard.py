"""No call to another service inside an open database transaction: its locks would outlast the network (FIN-07)."""

from __future__ import annotations

from typing import Any

from interceptors.client.chain import Call, Send
from services.kernel.transaction import open_transaction


class CalledInTransactionError(RuntimeError):
    """A fault in the program, not in the call: move the call out of the transaction."""


async def transaction_guard(call: Call, send: Send) -> Any:
    """Raise before anything else happens, a token fetched included, where a transaction is open."""
    if (name := open_transaction.get()) is not None:
        raise CalledInTransactionError(f"{call.method} called inside the database transaction {name!r}")
    return await send()
