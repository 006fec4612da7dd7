"""Work that goes on when the call that began it has gone away, and that a stop waits for (FIN-23)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from canopy.errors.v1.reason_pb2 import Reason
from services.kernel.errors import Refusal, label

T = TypeVar("T")

_log: Final = logging.getLogger(__name__)


class CutError(asyncio.CancelledError):
    """The work was cancelled, not the caller that waits for it."""


class Shielded:
    """Runs each piece of work in a task of its own, and keeps hold of it until it has ended."""

    def __init__(self, *, drain_seconds: float) -> None:
        """Prepare. drain_seconds: how long `drain` waits before it cuts."""
        self._drain_seconds: Final = drain_seconds
        self._running: Final[dict[asyncio.Task[Any], dict[str, str]]] = {}
        self._draining = False

    async def run(self, work: Callable[[], Coroutine[Any, Any, T]], **facts: str) -> T:
        """Run `work` to its end and return its value; a caller that is cancelled leaves it running.

        facts: ids and names that tell it from others in the log. Raises what the work raises; CutError where it was
        cut; Refusal with REASON_UPSTREAM_UNAVAILABLE, and `work` is not called, once `drain` was.
        """
        if self._draining:
            raise Refusal(Reason.REASON_UPSTREAM_UNAVAILABLE)
        task = asyncio.create_task(work())
        self._running[task] = facts  # a task that only shield() refers to may be collected before it ends
        task.add_done_callback(self._running.pop)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise CutError from None
            task.add_done_callback(lambda done: _log_abandoned(done, facts))
            raise

    async def drain(self) -> None:
        """Refuse new work and wait for what runs; what takes too long is cut."""
        self._draining = True
        if not self._running:
            return
        _, late = await asyncio.wait(set(self._running), timeout=self._drain_seconds)
        for task in late:
            _log.warning("work cut off while stopping", extra=self._running[task])
            task.cancel()
        if late:
            await asyncio.wait(late)


def _log_abandoned(task: asyncio.Task[Any], facts: dict[str, str]) -> None:
    """Say how work ended that nobody waits for any more."""
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.warning("work failed after its caller had gone", extra={**facts, "error": label(error)})
