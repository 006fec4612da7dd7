"""How much at once: calls beyond the limit are refused before anything is done for them (MSH-17)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from canopy.errors.v1.reason_pb2 import Reason
from interceptors.server.chain import Call, Middleware
from services.kernel.errors import Refusal


def admission(max_calls: int) -> Middleware:
    """Let `max_calls` in at a time; the others hear at once that, and when, to come again. Needs: status."""
    inside = 0

    @asynccontextmanager
    async def middleware(_call: Call) -> AsyncIterator[None]:
        nonlocal inside
        if inside >= max_calls:
            raise Refusal(Reason.REASON_OVERLOADED)
        inside += 1
        try:
            yield
        finally:
            inside -= 1

    return middleware
