"""The lease of an attempt while it is driven: prolonged by heartbeats, and no new effect once it is lost (FIN-05)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from types import TracebackType
from typing import Final, Self

from canopy.errors.v1.reason_pb2 import Reason
from services.applications.store import operations
from services.applications.store.operations import Fence
from services.chassis.postgres import Database
from services.kernel import failpoint, instruments, tally
from services.kernel.errors import Refusal, label
from services.kernel.failpoint import Failpoint

_log: Final = logging.getLogger(__name__)


class Lease:
    """Heartbeats for the length of a block. Ask `require` before every new effect.

    The lease is for liveness: it keeps others from starting over. What keeps this attempt from writing after it was
    taken over is the fence of every write. `require` only stops early what would be refused later.
    """

    def __init__(
        self, db: Database, fence: Fence, *, claimed_at: float, lease_seconds: float, heartbeat_seconds: float
    ) -> None:
        """Prepare. claimed_at: time.monotonic() before the claim was sent, so that trust here ends before the lease."""
        self._db: Final = db
        self._fence: Final = fence
        self._lease_seconds: Final = lease_seconds
        self._heartbeat_seconds: Final = heartbeat_seconds
        self._trusted_until = claimed_at + lease_seconds
        self._lost = False
        self._stopping: Final = asyncio.Event()
        self._pulse: asyncio.Task[None] | None = None

    def require(self) -> None:
        """Return if this attempt may go on; Refusal with REASON_LEASE_LOST if not, or if that is not known."""
        if self._lost or time.monotonic() >= self._trusted_until:
            raise Refusal(Reason.REASON_LEASE_LOST)

    async def stop(self) -> None:
        """End the heartbeats: before the write that ends the attempt, which would make the next one look lost."""
        self._stopping.set()
        if self._pulse is None:
            return
        await asyncio.wait({self._pulse}, timeout=self._heartbeat_seconds)
        if not self._pulse.done():
            self._pulse.cancel()
            await asyncio.wait({self._pulse})

    async def __aenter__(self) -> Self:
        with tally.uncounted():
            self._pulse = asyncio.create_task(self._beat(), name="finalize heartbeat")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def _beat(self) -> None:
        while not self._lost and not await self._stopped_within(self._heartbeat_seconds):
            sent_at = time.monotonic()
            try:
                await failpoint.reach(Failpoint.APPLICATIONS_HEARTBEAT_BEFORE)
                held = await operations.heartbeat(self._db, self._fence, self._lease_seconds)
                await failpoint.reach(Failpoint.APPLICATIONS_HEARTBEAT_AFTER)
            except Exception as error:  # noqa: BLE001 -- whatever it was, the next beat tries again; trust runs out by itself
                _log.warning("heartbeat failed", extra={**self._fence.facts, "error": label(error)})
                continue
            if held:
                self._trusted_until = sent_at + self._lease_seconds
            else:
                self._lost = True
                instruments.FINALIZE_LEASES_LOST.add(1)

    async def _stopped_within(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        return self._stopping.is_set()
