"""A consumer that dies in the middle of its first event: kill -9, no goodbye to the bus."""

from __future__ import annotations

import asyncio
import os
import signal

from canopy.events.v1.event_pb2 import Event
from services.chassis import valkey
from services.chassis.bus_redis import RedisBusConfig, RedisStreamsBus
from services.kernel.secret import Secret


async def die(_: Event) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def main() -> None:
    config = valkey.ValkeyConfig(url=os.environ["URL"], password=Secret(os.environ["PASSWORD"]))
    async with (
        valkey.connect(config) as client,
        RedisStreamsBus(client, RedisBusConfig()).subscribe(os.environ["GROUP"], ["#"], die),
    ):
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
