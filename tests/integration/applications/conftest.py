"""A database of the applications service, and the service on it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from services.chassis.postgres import Database
from tests.applications import RunningApplications, applications_config, running
from tests.mesh import Mesh
from tests.postgres import FreshDatabase
from tests.servers import CreateDatabase


@pytest.fixture
async def fresh(create_database: CreateDatabase) -> FreshDatabase:
    """An empty database of the service."""
    return await create_database("outbox", "applications")


@pytest.fixture
async def db(fresh: FreshDatabase) -> AsyncIterator[Database]:
    """The same database as the service sees it."""
    async with Database.open(fresh.service) as opened:
        yield opened


@pytest.fixture
async def service(mesh: Mesh, fresh: FreshDatabase) -> AsyncIterator[RunningApplications]:
    """The service on the same database."""
    async with running(mesh, applications_config(mesh, fresh)) as served:
        yield served
