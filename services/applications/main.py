"""The applications service's process: `python -m services.applications.main`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from services.applications.config import ApplicationsConfig
from services.chassis.postgres import Database
from services.chassis.service import Service, run

NAME = "canopy-applications"


@asynccontextmanager
async def build(config: ApplicationsConfig) -> AsyncIterator[Service]:
    """Put the service together."""
    async with Database.open(config.database) as db:
        yield Service(name=NAME, checks={"database": db.ping})


def main() -> None:
    """Run until SIGTERM."""
    run(NAME, ApplicationsConfig, build)


if __name__ == "__main__":
    main()
