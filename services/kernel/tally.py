"""Counts what an operation costs: commits, calls to other services, statements, round trips to the database.

The counts do not vary with the machine, so tests state them exactly. A tally sees the whole process, since the work of
one call spreads over tasks of in-process servers that share no context with the caller; background loops, which run
whether or not somebody calls, step aside by `uncounted`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final


@dataclass(slots=True)
class Tally:
    """What has been counted since the tally began.

    commits: confirmed transactions. rpcs: attempts sent to other services, each retry included. statements: SQL
    statements other than BEGIN and COMMIT. round_trips: statements plus BEGIN and COMMIT or ROLLBACK, as with a warm
    statement cache.
    """

    commits: int = 0
    rpcs: int = 0
    statements: int = 0
    round_trips: int = 0


_open: Final[list[Tally]] = []
_uncounted: Final[ContextVar[bool]] = ContextVar("canopy_uncounted", default=False)


@contextmanager
def tally() -> Iterator[Tally]:
    """Count for the length of a block; blocks may nest or overlap, each counts for itself."""
    mine = Tally()
    _open.append(mine)
    try:
        yield mine
    finally:
        # By identity: two tallies with equal counts are equal.
        _open[:] = [each for each in _open if each is not mine]


@contextmanager
def uncounted() -> Iterator[None]:
    """Leave out what this block, and every task begun in it, does."""
    token = _uncounted.set(True)
    try:
        yield
    finally:
        _uncounted.reset(token)


def count(*, commits: int = 0, rpcs: int = 0, statements: int = 0, round_trips: int = 0) -> None:
    """Add to every open tally, unless the caller is uncounted."""
    if not _open or _uncounted.get():
        return
    for each in _open:
        each.commits += commits
        each.rpcs += rpcs
        each.statements += statements
        each.round_trips += round_trips
