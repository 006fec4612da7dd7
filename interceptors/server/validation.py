"""What may be said: every request message keeps its contract before a handler sees it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from interceptors.server.chain import Call, Middleware
from services.kernel import fields


def validation() -> Middleware:
    """Refuse request messages that break their contract. Innermost: a stranger's message is not even decoded."""

    @asynccontextmanager
    async def middleware(call: Call) -> AsyncIterator[None]:
        call.check = fields.require_contract
        yield

    return middleware
