"""How long the current call may still take. Set once per inbound call, inherited by everything the call awaits."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Deadline:
    """An instant on this process's monotonic clock."""

    at: float  # seconds, time.monotonic()

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """Return the deadline that is `seconds` from now."""
        return cls(at=time.monotonic() + seconds)

    def remaining(self) -> float:
        """Return the seconds left; 0 once it has passed."""
        return max(0.0, self.at - time.monotonic())


_current: ContextVar[Deadline | None] = ContextVar("canopy_deadline", default=None)


def current() -> Deadline | None:
    """Return the deadline of the call that is being served; None in a worker and at start-up."""
    return _current.get()


@contextmanager
def use(deadline: Deadline) -> Iterator[None]:
    """Make `deadline` the current one for the block."""
    token = _current.set(deadline)
    try:
        yield
    finally:
        _current.reset(token)
