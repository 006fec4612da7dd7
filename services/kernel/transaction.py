"""Which database transaction is open here, so that nothing slow or remote is done inside one (FIN-07)."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final

# The name given to Database.transact, None outside. Tasks begun inside a transaction inherit it.
open_transaction: Final[ContextVar[str | None]] = ContextVar("canopy_open_transaction", default=None)
