"""Both services of a submit, on databases of the test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from services.cli.stack.valkey import ValkeyServer
from tests import submits
from tests.mesh import Mesh
from tests.servers import CreateDatabase
from tests.submits import World


@pytest.fixture
async def world(mesh: Mesh, bus_valkey: ValkeyServer, create_database: CreateDatabase) -> AsyncIterator[World]:
    """A persons service and two coordinators."""
    fresh = await create_database("outbox", "applications")
    persons_fresh = await create_database("outbox", "persons")
    async with submits.world(mesh, bus_valkey, fresh, persons_fresh) as made:
        yield made
