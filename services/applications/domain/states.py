"""The states of a finalize operation and which may follow which; the database holds the same pairs (ADR-8)."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Status(StrEnum):
    """Where the submit of a draft stands, as stored in finalize_operations.status."""

    IN_PROGRESS = "in_progress"
    COMPENSATING = "compensating"
    COMPLETED = "completed"
    ABORTED = "aborted"


ABSENT: Final = "none"
"""Stands for "no row yet" on the left of a pair."""

TRANSITIONS: Final[frozenset[tuple[str, str]]] = frozenset(
    {
        (ABSENT, Status.IN_PROGRESS),  # claim
        (Status.IN_PROGRESS, Status.COMPLETED),  # final commit
        (Status.IN_PROGRESS, Status.COMPENSATING),  # abort
        (Status.COMPENSATING, Status.ABORTED),  # cancel acknowledged
        (Status.ABORTED, Status.IN_PROGRESS),  # submitted again, with the next generation
    }
)
