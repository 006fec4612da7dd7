"""What the bus suite needs from an implementation. A new implementation adds one harness and one name."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Protocol

import pytest

from services.chassis import valkey
from services.chassis.bus import Bus
from services.chassis.bus_redis import DEAD_STREAM, RedisBusConfig, RedisStreamsBus
from tests.valkey import TestServer, running

REPOSITORY = Path(__file__).parents[2]

MAX_DELIVERIES = 3
"""What every harness sets."""


class Harness(Protocol):
    """One bus under test with its server."""

    async def bus(self) -> Bus:
        """Return a bus on connections of its own, as another process would have."""
        ...

    async def stop_server(self) -> None:
        """Stop the server; what it confirmed is kept."""
        ...

    async def start_server(self) -> None:
        """Bring it back under the same address."""
        ...

    async def dead_letters(self) -> int:
        """Count the events set aside."""
        ...

    async def dying_consumer(self, group: str) -> int:
        """Run a consumer of "#" in a process that kills itself inside its handler; return its exit code."""
        ...


class RedisHarness:
    """Redis streams on a real Valkey."""

    config = RedisBusConfig(
        handler_seconds=0.2, redeliver_seconds=0.4, block_seconds=0.05, max_deliveries=MAX_DELIVERIES
    )

    def __init__(self, server: TestServer, stack: AsyncExitStack) -> None:
        self._server = server
        self._stack = stack

    async def bus(self) -> Bus:
        """See Harness."""
        return RedisStreamsBus(await self._client(), self.config)

    async def stop_server(self) -> None:
        """See Harness."""
        await self._server.stop()

    async def start_server(self) -> None:
        """See Harness."""
        await self._server.start()

    async def dead_letters(self) -> int:
        """See Harness."""
        return await (await self._client()).xlen(DEAD_STREAM)

    async def dying_consumer(self, group: str) -> int:
        """See Harness."""
        server = self._server.config()
        assert server.password is not None
        return await _run_dying_consumer({"URL": server.url, "PASSWORD": server.password.reveal(), "GROUP": group})

    async def _client(self) -> valkey.ValkeyClient:
        return await self._stack.enter_async_context(valkey.connect(self._server.config()))


async def _run_dying_consumer(environ: Mapping[str, str]) -> int:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.conformance.dying_consumer", cwd=REPOSITORY, env={**os.environ, **environ}
    )
    return await process.wait()


@pytest.fixture(params=["redis"])
async def harness(tmp_path: Path) -> AsyncIterator[Harness]:
    """One harness per implementation."""
    async with running(tmp_path, "bus") as server, AsyncExitStack() as stack:
        yield RedisHarness(server, stack)
