"""The knobs of a service's PostgreSQL, and the session settings they become.

PostgreSQL 17 is the oldest that serves: transaction_timeout is younger than 16.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from services.chassis.config import knob
from services.kernel.secret import Secret

_CLIENT_MARGIN_SECONDS: Final = 5.0  # the server's own limit speaks first; ours is for a server that went silent


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseConfig:
    """How a service reaches and uses its database. One pool per lane (see `postgres.Lane`)."""

    dsn: str = knob(
        doc="Address of the database, without a password: postgresql://user@host:port/database?sslmode=….",
        pattern=r"postgres(ql)?://[^:@/]+@.+",
    )
    password: Secret[str] = knob(doc="Password of the user in the DSN.")
    application_name: str = knob("canopy", doc="Name shown in pg_stat_activity.", lo=1, hi=63)
    control_pool_size: int = knob(
        4, lo=1, hi=100, doc="Connections for short work that must not queue: heartbeats, cancels, final commits."
    )
    bulk_pool_size: int = knob(8, lo=1, hi=500, doc="Connections for everything else.")
    acquire_seconds: float = knob(
        2.0, lo=0.01, hi=60, unit="s", doc="How long a call waits for a connection before it is refused as overload."
    )
    lock_seconds: float = knob(5.0, lo=0.01, hi=300, unit="s", doc="How long a statement waits for a lock.")
    statement_seconds: float = knob(10.0, lo=0.01, hi=600, unit="s", doc="How long one statement may run.")
    transaction_seconds: float = knob(
        30.0, lo=0.1, hi=600, unit="s", doc="How long one transaction may be open, whatever it does."
    )
    idle_in_transaction_seconds: float = knob(
        10.0, lo=0.1, hi=600, unit="s", doc="How long a transaction may wait for us between two statements."
    )
    settle_seconds: float = knob(
        5.0, lo=0.1, hi=60, unit="s", doc="How long to look for the outcome of a commit whose answer was lost."
    )
    drain_seconds: float = knob(
        10.0, lo=0.0, hi=600, unit="s", doc="How long a stop waits for transactions that have begun."
    )

    def check(self) -> Iterator[str]:
        """Yield what is wrong between knobs: PostgreSQL ignores an inner limit that is not below the outer one."""
        if not self.lock_seconds < self.statement_seconds:
            yield f"lock_seconds ({self.lock_seconds}) must be < statement_seconds ({self.statement_seconds})"
        for name in ("statement_seconds", "idle_in_transaction_seconds"):
            value: float = getattr(self, name)
            if not value < self.transaction_seconds:
                yield f"{name} ({value}) must be < transaction_seconds ({self.transaction_seconds})"


def connect_options(config: DatabaseConfig) -> dict[str, Any]:
    """Return what every connection of a service is opened with. The limits are session defaults, never SET later."""
    return {
        "password": config.password.reveal(),
        "timeout": config.acquire_seconds,
        "command_timeout": config.statement_seconds + _CLIENT_MARGIN_SECONDS,
        "server_settings": {
            "application_name": config.application_name,
            "default_transaction_isolation": "read committed",
            # What was acknowledged is on disk. A server set to less would lose filings whose receipt is out.
            "synchronous_commit": "on",
            "lock_timeout": _milliseconds(config.lock_seconds),
            "statement_timeout": _milliseconds(config.statement_seconds),
            "transaction_timeout": _milliseconds(config.transaction_seconds),
            "idle_in_transaction_session_timeout": _milliseconds(config.idle_in_transaction_seconds),
        },
    }


def begin_statement(config: DatabaseConfig, lock_seconds: float) -> str:
    """Compose BEGIN and its limits as one simple query: one round trip. Stated here too: a pooler may drop defaults."""
    return (
        "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
        f"; SET LOCAL lock_timeout = {_milliseconds(lock_seconds)}"
        f"; SET LOCAL statement_timeout = {_milliseconds(config.statement_seconds)}"
        f"; SET LOCAL transaction_timeout = {_milliseconds(config.transaction_seconds)}"
    )


def _milliseconds(seconds: float) -> str:
    return str(max(1, round(seconds * 1000)))  # 0 would mean no limit
