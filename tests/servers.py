"""Fixtures of the embedded servers: PostgreSQL and Valkey, once per run; databases, once per test."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TypeAlias

import pytest
import redis.asyncio

from services.chassis.postgres import Database
from services.cli.stack.postgres import PostgresConfig, PostgresServer
from services.cli.stack.valkey import Role, ValkeyConfig, ValkeyServer
from services.kernel import failpoint
from tests.postgres import NOT_DURABLE, FreshDatabase, PostgresDatabases

CreateDatabase: TypeAlias = Callable[..., Awaitable[FreshDatabase]]
OpenDatabase: TypeAlias = Callable[..., Awaitable[Database]]


@pytest.fixture(scope="session")
def stack_home() -> Iterator[Path]:
    """A folder for servers that every user of the machine can pass through: as root, PostgreSQL runs as another."""
    folder = Path(tempfile.mkdtemp(prefix="canopy-test-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
async def databases(stack_home: Path) -> AsyncIterator[PostgresDatabases]:
    """The run's PostgreSQL, as a maker of databases."""
    config = PostgresConfig(home=stack_home / "shared", settings=NOT_DURABLE, die_with_parent=True)
    async with PostgresServer.running(config) as server:
        yield PostgresDatabases(server)


@pytest.fixture
def create_database(databases: PostgresDatabases) -> CreateDatabase:
    """The maker of this test's databases, called with migration lines: "outbox", "persons"."""
    return databases.create


@pytest.fixture
async def database(create_database: CreateDatabase) -> AsyncIterator[OpenDatabase]:
    """The same, also logged in as the service and closed at the end of the test."""
    async with AsyncExitStack() as stack:

        async def open_database(*lines: str) -> Database:
            fresh = await create_database(*lines)
            return await stack.enter_async_context(Database.open(fresh.service))

        yield open_database


async def _valkey(home: Path, role: Role) -> AsyncIterator[ValkeyServer]:
    async with ValkeyServer.running(ValkeyConfig(home=home, role=role, die_with_parent=True)) as server:
        yield server


@pytest.fixture(scope="session")
async def session_valkey_server(stack_home: Path) -> AsyncIterator[ValkeyServer]:
    """The run's Valkey for sessions."""
    async for server in _valkey(stack_home / "shared", "sessions"):
        yield server


@pytest.fixture(scope="session")
async def bus_valkey_server(stack_home: Path) -> AsyncIterator[ValkeyServer]:
    """The run's Valkey for the event bus."""
    async for server in _valkey(stack_home / "shared", "bus"):
        yield server


@pytest.fixture
async def session_valkey(session_valkey_server: ValkeyServer) -> ValkeyServer:
    """The Valkey for sessions, emptied."""
    return await _emptied(session_valkey_server)


@pytest.fixture
async def bus_valkey(bus_valkey_server: ValkeyServer) -> ValkeyServer:
    """The Valkey for the event bus, emptied."""
    return await _emptied(bus_valkey_server)


async def _emptied(server: ValkeyServer) -> ValkeyServer:
    client = redis.asyncio.Redis.from_url(server.url(), password=server.password.reveal())
    async with contextlib.aclosing(client):
        await client.flushall()
    return server


@pytest.fixture(autouse=True)
def disarmed_failpoints() -> Iterator[None]:
    """Leave no failpoint armed for the next test."""
    yield
    failpoint.disarm_all()
