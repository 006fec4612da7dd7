"""Fixtures for every test. They live in modules by subject; this file only gathers them."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("canopy", deadline=None)  # how long an example takes says nothing about the code
settings.load_profile("canopy")

pytest_plugins = ["tests.servers", "tests.mesh", "tests.telemetry", "tests.valkey"]
