"""A portal on its own Valkey, in front of a real applications service."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from services.chassis.service import Running
from services.portal import main
from tests.applications import applications_config, running
from tests.mesh import Mesh
from tests.portal import Browser, browser, portal_config
from tests.servers import CreateDatabase
from tests.valkey import TestServer
from tests.valkey import running as valkey_running


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What a portal test may look at, and break."""

    mesh: Mesh
    portal: Running
    applications_port: int
    valkey: TestServer


@pytest.fixture
async def world(mesh: Mesh, create_database: CreateDatabase, tmp_path: Path) -> AsyncIterator[World]:
    """A portal with the defaults of its sessions."""
    fresh = await create_database("outbox", "applications")
    async with (
        valkey_running(tmp_path, "sessions") as valkey,
        running(mesh, applications_config(mesh, fresh)) as applications,
        mesh.serve(main.build, portal_config(mesh, valkey.config(), applications.port)) as portal,
    ):
        yield World(mesh=mesh, portal=portal, applications_port=applications.port, valkey=valkey)


@pytest.fixture
async def phone(world: World) -> AsyncIterator[Browser]:
    """One device."""
    async with browser(world.portal) as opened:
        yield opened


@pytest.fixture
async def library(world: World) -> AsyncIterator[Browser]:
    """Another device."""
    async with browser(world.portal) as opened:
        yield opened
