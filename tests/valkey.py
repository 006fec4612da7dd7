"""A real Valkey for tests: one server per test, since tests flip its policy, fill it and restart it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from services.chassis import valkey
from services.chassis.valkey import ValkeyClient
from services.cli.stack.valkey import Role, ValkeyConfig, ValkeyServer


class TestServer:
    """A server that can be stopped and brought back on the same port with the same data."""

    __test__ = False

    def __init__(self, home: Path, role: Role) -> None:
        self._home = home
        self._role: Role = role
        self._server: ValkeyServer | None = None
        self._port = 0

    async def start(self) -> None:
        """Start, or start again."""
        self._server = await ValkeyServer.start(
            ValkeyConfig(home=self._home, role=self._role, port=self._port, die_with_parent=True)
        )
        self._port = self._server.port

    async def stop(self) -> None:
        """Stop in order: what was written is kept."""
        await self._running().stop()
        self._server = None

    async def kill(self) -> None:
        """End it as a crash would."""
        await self._running().kill()
        self._server = None

    async def close(self) -> None:
        """Stop if it runs."""
        if self._server is not None:
            await self.stop()

    def config(self) -> valkey.ValkeyConfig:
        """How a service reaches this server. Short waits: a test that breaks the server should notice soon."""
        server = self._running()
        return valkey.ValkeyConfig(url=server.url(), password=server.password, retries=1)

    def _running(self) -> ValkeyServer:
        assert self._server is not None
        return self._server


@asynccontextmanager
async def running(home: Path, role: Role) -> AsyncIterator[TestServer]:
    """Run a server for the length of a block."""
    server = TestServer(home, role)
    await server.start()
    try:
        yield server
    finally:
        await server.close()


@asynccontextmanager
async def connected(home: Path, role: Role) -> AsyncIterator[tuple[TestServer, ValkeyClient]]:
    """Run a server and open one client of it."""
    async with running(home, role) as server, valkey.connect(server.config()) as client:
        yield server, client


@pytest.fixture
def verdicts() -> Iterator[asyncio.Queue[str | None]]:
    """Every verdict that a guard logs: the reason, or None for fit."""
    queue: asyncio.Queue[str | None] = asyncio.Queue()

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            queue.put_nowait(vars(record)["reason"])

    logger, listener = logging.getLogger("services.chassis.valkey"), Listener()
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(listener)
    yield queue
    logger.removeHandler(listener)
    logger.setLevel(level)
