"""The numbers of calling: how long, how often, how soon again."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

OVERALL_SECONDS: Final = 90.0
"""One deadline over everything that a logical call does, where its caller has less time than that to lose: that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """When the same call is sent again. Only methods that the contract declares repeatable ever are."""

    attempts: int = 4  # the first one included
    base_seconds: float = 0.05
    most_seconds: float = 2.0

    def pause(self, attempt: int, retry_after: float | None) -> float:
        """Return the seconds to wait after attempt number `attempt` (from 1) failed.

        Full jitter below a doubling limit, so that callers who failed together do not come back together; where the
        other side says when, not before that.
        """
        limit = min(self.most_seconds, self.base_seconds * 2 ** (attempt - 1))
        return (retry_after or 0.0) + random.uniform(0.0, limit)  # noqa: S311 -- no secret
