"""What the tests of the outbox share: a database and a bus of their own, and drainers between them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from services.chassis import valkey
from services.chassis.outbox_drainer import Drainer
from services.chassis.postgres import Database
from services.chassis.valkey import ValkeyClient, ValkeyConfig
from services.cli.stack.valkey import ValkeyServer
from tests.outbox import Published, new_drainer
from tests.postgres import FreshDatabase
from tests.servers import CreateDatabase


@pytest.fixture
async def fresh(create_database: CreateDatabase) -> FreshDatabase:
    return await create_database("outbox")


@pytest.fixture
async def db(fresh: FreshDatabase) -> AsyncIterator[Database]:
    async with Database.open(fresh.service) as opened:
        yield opened


@pytest.fixture
def store(bus_valkey: ValkeyServer) -> ValkeyConfig:
    return ValkeyConfig(url=bus_valkey.url(), password=bus_valkey.password)


@pytest.fixture
async def client(store: ValkeyConfig) -> AsyncIterator[ValkeyClient]:
    async with valkey.connect(store) as opened:
        yield opened


@pytest.fixture
def published(client: ValkeyClient) -> Published:
    return Published(client=client)


@pytest.fixture
def drainer(db: Database, client: ValkeyClient) -> Drainer:
    return new_drainer(db, client)
