"""A process that drains an outbox until it is killed, by a failpoint armed from its environment."""

from __future__ import annotations

import asyncio
import os

from services.chassis import valkey
from services.chassis.bus_redis import RedisBusConfig, RedisStreamsBus
from services.chassis.outbox_drainer import Drainer, DrainerConfig
from services.chassis.postgres import Database
from services.chassis.postgres_config import DatabaseConfig
from services.chassis.valkey import ValkeyConfig
from services.kernel import failpoint
from services.kernel.secret import Secret


async def main() -> None:
    failpoint.from_environment(os.environ)
    database = DatabaseConfig(dsn=os.environ["DSN"], password=Secret(os.environ["DATABASE_PASSWORD"]))
    store = ValkeyConfig(url=os.environ["BUS_URL"], password=Secret(os.environ["BUS_PASSWORD"]))
    async with Database.open(database) as db, valkey.connect(store) as client:
        bus = RedisStreamsBus(client, RedisBusConfig())
        await Drainer(db, bus, "canopy-persons", DrainerConfig()).drain_once()


if __name__ == "__main__":
    asyncio.run(main())
