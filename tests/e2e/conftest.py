"""Fixtures of the end-to-end tests."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.e2e.edge_world import Edge, running_edge


@pytest.fixture(scope="session")
async def edge(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Edge]:
    """One Envoy for the whole run."""
    async with running_edge(tmp_path_factory.mktemp("edge")) as running:
        yield running
