"""Work that goes on when the call that began it has gone away (FIN-23)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

from canopy.errors.v1.reason_pb2 import Reason
from services.kernel import deadline
from services.kernel.deadline import Deadline
from services.kernel.errors import Refusal

T = TypeVar("T")

_log = logging.getLogger(__name__)


class Drives:
    """Runs each piece of work in a task of its own, with a deadline of its own, and keeps track of them all."""

    def __init__(self, *, seconds: float, drain_seconds: float) -> None:
        """Prepare. seconds: the deadline of one piece of work. drain_seconds: how long `drain` waits for the last."""
        self._seconds: Final = seconds
        self._drain_seconds: Final = drain_seconds
        self._running: Final[set[asyncio.Task[Any]]] = set()

    @classmethod
    @asynccontextmanager
    async def open(cls, *, seconds: float, drain_seconds: float) -> AsyncIterator[Drives]:
        """Take work for the length of a block, and drain at its end."""
        drives = cls(seconds=seconds, drain_seconds=drain_seconds)
        try:
            yield drives
        finally:
            await drives.drain()

    async def run(self, name: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run `work` to its end and return its value; a caller that is cancelled leaves it running.

        Raises what the work raises; Refusal with REASON_UPSTREAM_UNAVAILABLE where the work was cut, by a stop.
        """
        task = asyncio.create_task(self._bounded(work), name=name)
        self._running.add(task)  # a task that only shield() refers to may be collected before it ends
        task.add_done_callback(self._running.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise Refusal(Reason.REASON_UPSTREAM_UNAVAILABLE) from None
            task.add_done_callback(_log_abandoned)
            raise

    async def drain(self) -> None:
        """Wait for the running ones; those that take too long are cut, and resumed by whoever repeats the submit."""
        if not self._running:
            return
        _, late = await asyncio.wait(set(self._running), timeout=self._drain_seconds)
        for task in late:
            _log.warning("%s was cut by the stop", task.get_name())
            task.cancel()
        if late:
            await asyncio.wait(late)

    async def _bounded(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        with deadline.use(Deadline.after(self._seconds)):
            return await work()


def _log_abandoned(task: asyncio.Task[Any]) -> None:
    """Say how work ended whose caller had gone away; by type, since a text may hold what was sent."""
    if not task.cancelled() and (error := task.exception()) is not None:
        _log.warning("%s failed after its caller had gone: %s", task.get_name(), type(error).__name__)
