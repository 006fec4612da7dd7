"""Every inbound call has an end: the client's, or ours where it names none."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from canopy.errors.v1.reason_pb2 import Reason
from interceptors.server.chain import Call, Middleware, bounded
from services.kernel import deadline as current_deadline
from services.kernel.deadline import Deadline
from services.kernel.errors import Refusal

# Taken off the client's deadline, so that our answer still finds the client waiting: it learns what ran out, and where.
REPORTING_SECONDS: Final = 0.02
# gRPC rounds a deadline up by as much as this on its way, so the client leaves before the time we are told.
ROUNDING: Final = 0.01


def deadline(default_seconds: float) -> Middleware:
    """Set the call's deadline and make it the current one. Needs: status.

    default_seconds: for a call that comes without a deadline, as every call over REST does. A call that comes with less
    than the reporting time left is refused unseen. A handler that answers once is cut off as a whole; of one that
    streams, the adapter limits every step, since a timeout around a `yield` could fire outside the handler.
    """

    @asynccontextmanager
    async def middleware(call: Call) -> AsyncIterator[None]:
        told = call.time_remaining
        given = default_seconds if told is None else told * (1 - ROUNDING) - REPORTING_SECONDS
        if given <= 0:
            raise Refusal(Reason.REASON_DEADLINE_EXCEEDED)
        call.deadline = Deadline.after(given)
        with current_deadline.use(call.deadline):
            if call.streams_answer:
                yield
                return
            async with bounded(call.deadline):
                yield

    return middleware
