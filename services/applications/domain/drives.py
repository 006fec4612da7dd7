"""Drives of submits: each goes on when the call that began it has gone away, with a deadline of its own (FIN-23)."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

from canopy.errors.v1.reason_pb2 import Reason
from services.chassis.shielded import CutError, Shielded
from services.kernel import deadline
from services.kernel.deadline import Deadline
from services.kernel.errors import Refusal

T = TypeVar("T")


class Drives:
    """Runs drives, and waits for them before the service ends."""

    def __init__(self, *, seconds: float, drain_seconds: float) -> None:
        """Prepare. seconds: the deadline of one drive. drain_seconds: how long the end of a block waits for them."""
        self._seconds: Final = seconds
        self._shielded: Final = Shielded(drain_seconds=drain_seconds)

    @classmethod
    @asynccontextmanager
    async def open(cls, *, seconds: float, drain_seconds: float) -> AsyncIterator[Drives]:
        """Take drives for the length of a block; those that run at its end and take too long are cut."""
        drives = cls(seconds=seconds, drain_seconds=drain_seconds)
        try:
            yield drives
        finally:
            await drives._shielded.drain()

    async def run(self, operation_id: uuid.UUID, drive: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run `drive` to its end and return its value; a caller that is cancelled leaves it running.

        Raises what the drive raises; Refusal with REASON_UPSTREAM_UNAVAILABLE where it was cut, by a stop: whoever
        repeats the submit resumes it.
        """

        async def bounded() -> T:
            with deadline.use(Deadline.after(self._seconds)):
                return await drive()

        try:
            return await self._shielded.run(bounded, operation_id=str(operation_id))
        except CutError:
            raise Refusal(Reason.REASON_UPSTREAM_UNAVAILABLE) from None
