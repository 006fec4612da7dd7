"""The operators' port: liveness, readiness and metrics over HTTP. On the loopback address unless told otherwise."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from services.chassis.config import knob
from services.chassis.http_server import serve_http
from services.kernel.errors import label

_log: Final = logging.getLogger(__name__)

Check = Callable[[], Awaitable[object]]
"""A condition of readiness: returns when it holds, raises when it does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpsConfig:
    """Where operators and probes look."""

    host: str = knob("127.0.0.1", doc="Address that the operators' port listens on.")
    port: int = knob(doc="The operators' port; 0 takes any free one.", lo=0, hi=65_535)
    check_seconds: float = knob(2.0, lo=0.1, hi=60, unit="s", doc="Longest time for one readiness check.")


@asynccontextmanager
async def serve_ops(
    config: OpsConfig, *, alive: Callable[[], bool], checks: Mapping[str, Check], registry: CollectorRegistry
) -> AsyncIterator[int]:
    """Serve GET /livez, /readyz and /metrics; yields the port.

    alive: False asks for a restart. checks: by name; the answer lists the names with "ok" or "failed", no detail.
    """

    async def livez(_: web.Request) -> web.Response:
        return web.Response(text="ok\n") if alive() else web.Response(status=503, text="failed\n")

    async def readyz(_: web.Request) -> web.Response:
        results = await asyncio.gather(*(_holds(name, check, config.check_seconds) for name, check in checks.items()))
        lines = (f"{name}: {'ok' if held else 'failed'}\n" for name, held in zip(checks, results, strict=True))
        return web.Response(status=200 if all(results) else 503, text="".join(lines))

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(body=generate_latest(registry), headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})

    application = web.Application()
    application.add_routes([web.get("/livez", livez), web.get("/readyz", readyz), web.get("/metrics", metrics)])
    async with serve_http(application, config.host, config.port) as port:
        yield port


async def _holds(name: str, check: Check, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await check()
    except Exception as error:  # noqa: BLE001 -- whatever a check raises, the answer is "not ready"
        _log.warning("readiness check failed", extra={"check": name, "error": label(error)})
        return False
    return True
