"""Plain HTTP servers: the operators' port of every process, and the token issuer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web


@asynccontextmanager
async def serve_http(
    application: web.Application, host: str, port: int, *, drain_seconds: float = 0.0, grace_seconds: float = 1.0
) -> AsyncIterator[int]:
    """Serve `application`; yields the bound port. Raises OSError when it cannot be bound.

    At the end it still answers for `drain_seconds`, then takes no more, and gives what is under way `grace_seconds`.
    """
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=grace_seconds)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        yield runner.addresses[0][1]
        await asyncio.sleep(drain_seconds)
    finally:
        await runner.cleanup()
