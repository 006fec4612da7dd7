"""The probe as a process: `python -m tests.probe.process`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from services.chassis.service import Service, ServiceConfig, run
from tests.probe.servicer import NAME, Probe, probe_service


@asynccontextmanager
async def build(config: ServiceConfig) -> AsyncIterator[Service]:
    yield probe_service(Probe())


if __name__ == "__main__":
    run(NAME, ServiceConfig, build)
