"""A database of the persons service, and the service on it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from services.chassis.postgres import Database
from services.cli.stack.valkey import ValkeyServer
from tests.mesh import Mesh
from tests.persons import Apply, Filing, RunningPersons, persons_config, running
from tests.postgres import FreshDatabase
from tests.servers import CreateDatabase


@pytest.fixture
async def fresh(create_database: CreateDatabase) -> FreshDatabase:
    """An empty database of the service."""
    return await create_database("outbox", "persons")


@pytest.fixture
async def db(fresh: FreshDatabase) -> AsyncIterator[Database]:
    """The same database as the service sees it."""
    async with Database.open(fresh.service) as opened:
        yield opened


@pytest.fixture
async def service(mesh: Mesh, fresh: FreshDatabase, bus_valkey: ValkeyServer) -> AsyncIterator[RunningPersons]:
    """The service on the same database."""
    async with running(mesh, persons_config(mesh, fresh, bus_valkey)) as served:
        yield served


@pytest.fixture(params=[Filing.apply, Filing.apply_each], ids=["batch", "one by one"])
def apply(request: pytest.FixtureRequest) -> Apply:
    """The RPC under test: all steps in one call, or a call for each."""
    return request.param
