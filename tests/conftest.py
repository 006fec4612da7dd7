"""Fixtures for every test. They live in modules by subject; this file only gathers them."""

from __future__ import annotations

pytest_plugins = ["tests.servers", "tests.mesh", "tests.telemetry"]
