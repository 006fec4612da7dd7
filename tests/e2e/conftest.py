"""Fixtures of the end-to-end tests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.e2e.edge_world import Edge, running_edge
from tests.machine import Machine, new_home


@pytest.fixture(scope="session")
async def edge(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Edge]:
    """One Envoy for the whole run."""
    async with running_edge(tmp_path_factory.mktemp("edge")) as running:
        yield running


@pytest.fixture(scope="session")
async def machine() -> AsyncIterator[Machine]:
    """The run's stack; each test leaves it running. Its logs are read once more when all of them are written out."""
    with new_home() as home:
        made = Machine(home)
        started = await made.canopy("--json", "up")
        assert started.code == 0, started.err
        try:
            yield made
        finally:
            stopped = await made.canopy("down")
        assert stopped.code == 0, stopped.err
        assert not made.spoken()
