"""The time of day as an argument, so that tests can choose it.

Only for what never meets a row: everything that is stored or compared in SQL takes the database's clock.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """Return the current instant, with time zone UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the current instant, with time zone UTC."""
        return datetime.now(UTC)
