"""A network between a service and PostgreSQL that can be cut at the worst moment."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from enum import Enum
from typing import Final
from urllib.parse import urlsplit

from services.chassis.postgres_config import DatabaseConfig

_COMMIT: Final = b"Q\x00\x00\x00\x0bCOMMIT\x00"  # the simple query message


class Cut(Enum):
    """Where the next COMMIT is lost."""

    REQUEST = "request"  # the server never hears of it
    ANSWER = "answer"  # the server commits, the answer does not arrive
    MIDWAY = "midway"  # the server has begun to commit when the connection breaks


class Wire:
    """Forwards connections to PostgreSQL. `cut` breaks the connection that sends the next COMMIT, once."""

    def __init__(self, host: str, port: int) -> None:
        self._target: Final = (host, port)
        self.cut: Cut | None = None
        self.refusing = False  # new connections are closed at once: the server is out of reach
        self.cuts = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection until either side ends it."""
        with contextlib.suppress(OSError):
            if not self.refusing:
                server_reader, server_writer = await asyncio.open_connection(*self._target)
                await self._carry(reader, writer, server_reader, server_writer)
                server_writer.close()
        writer.close()

    async def _carry(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        server_reader: asyncio.StreamReader,
        server_writer: asyncio.StreamWriter,
    ) -> None:
        answers = asyncio.create_task(_pump(server_reader, writer))
        try:
            while data := await reader.read(65536):
                if self.cut and _COMMIT in data:
                    cut, self.cut = self.cut, None
                    self.cuts += 1
                    answers.cancel()
                    await asyncio.wait([answers])
                    if cut is not Cut.REQUEST:
                        server_writer.write(data)
                        await server_writer.drain()
                    if cut is Cut.ANSWER:
                        await server_reader.read(1)
                    return
                server_writer.write(data)
                await server_writer.drain()
        finally:
            answers.cancel()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        writer.close()


@asynccontextmanager
async def wired(config: DatabaseConfig) -> AsyncIterator[tuple[Wire, DatabaseConfig]]:
    """Put a wire before the database of `config`; the second value is the configuration that goes through it."""
    address = urlsplit(config.dsn)
    assert address.hostname
    assert address.port
    wire = Wire(address.hostname, address.port)
    server = await asyncio.start_server(wire.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield wire, replace(config, dsn=config.dsn.replace(f":{address.port}/", f":{port}/"))
    finally:
        server.close()
