"""Background work: a supervised loop that outlives the failures of what it runs.

Every loop of a service (drainer, sweeper, subscription, periodic check) is a `Worker`, so that all of them back off,
report their health and stop in the same way.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Final, Self

from services.kernel import instruments
from services.kernel.errors import label
from services.kernel.tally import uncounted

_log: Final = logging.getLogger(__name__)
_random: Final = random.SystemRandom()

FIRST_BACKOFF_SECONDS: Final = 0.1
LONGEST_BACKOFF_SECONDS: Final = 30.0


class Worker:
    """Calls `run` again and again: `interval` seconds after a success, after a growing backoff on a failure.

    `run` is one pass: short, and safe to be cut off and repeated. Its exceptions are counted and logged by their label
    and never end the loop. Use as an async context manager, or start and stop.
    """

    def __init__(
        self, name: str, interval: float, run: Callable[[], Awaitable[object]], *, drain_seconds: float = 10.0
    ) -> None:
        """Prepare the loop.

        name: lower-case words joined by hyphens, a label of metrics. drain_seconds: how long `stop` waits for a running
        pass before it cancels it.
        """
        self.name: Final = name
        self._interval = interval
        self._run = run
        self._drain_seconds = drain_seconds
        self._nudged = asyncio.Event()
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._failures = 0

    @property
    def running(self) -> bool:
        """Whether the loop was started and has not ended."""
        return self._task is not None and not self._task.done()

    @property
    def failures(self) -> int:
        """How many passes have failed in a row; 0 after a success."""
        return self._failures

    def nudge(self) -> None:
        """Begin the next pass now instead of at the end of the interval. A backoff after a failure is not shortened.

        A nudge during a pass leads to one more pass, since the running one may have looked already.
        """
        self._nudged.set()

    def start(self) -> None:
        """Begin the loop. Raises RuntimeError if it was started before: a worker runs once."""
        if self._task is not None:
            raise RuntimeError(f"worker {self.name} was started before")
        self._task = asyncio.create_task(self._loop(), name=f"worker {self.name}")

    async def stop(self) -> None:
        """End the loop: no new pass begins, a running one gets `drain_seconds`, then it is cancelled."""
        self._stopping.set()
        self._nudged.set()
        if self._task is None:
            return
        await asyncio.wait({self._task}, timeout=self._drain_seconds)
        if not self._task.done():
            _log.warning("worker cut off while stopping", extra={"worker": self.name})
            self._task.cancel()
            await asyncio.wait({self._task})

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def _loop(self) -> None:
        with uncounted():  # what a loop does is nobody's call
            while not self._stopping.is_set():
                self._nudged.clear()
                if await self._pass():
                    await _wait(self._nudged, self._interval)
                else:
                    await _wait(self._stopping, _backoff(self._failures))

    async def _pass(self) -> bool:
        """Run once; tell whether it succeeded."""
        try:
            await self._run()
        except (Exception, asyncio.CancelledError) as error:
            if _is_cancelled_from_outside():
                raise
            self._failures += 1
            instruments.WORKER_FAILURES.add(1, {instruments.WORKER: self.name})
            _log.warning(
                "worker pass failed",
                extra={"worker": self.name, "error": label(error), "consecutive_failures": self._failures},
            )
            return False
        self._failures = 0
        return True


def _is_cancelled_from_outside() -> bool:
    """Tell a cancellation of the loop from a CancelledError that escaped something inside the pass."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _backoff(failures: int) -> float:
    """Seconds to wait after the n-th failure in a row: exponential, between half and all of the step."""
    step = min(LONGEST_BACKOFF_SECONDS, FIRST_BACKOFF_SECONDS * 2 ** min(failures - 1, 20))
    return _random.uniform(step / 2, step)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    """Return when the event is set or the time is over, whichever comes first."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
