"""The persons service's process: `python -m services.persons.main`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Final

from canopy.persons.v1 import (
    finalize_service_pb2,
    finalize_service_pb2_grpc,
    households_service_pb2,
    households_service_pb2_grpc,
    persons_service_pb2,
    persons_service_pb2_grpc,
    steward_service_pb2,
    steward_service_pb2_grpc,
)
from services.chassis import valkey
from services.chassis.bus_redis import RedisStreamsBus
from services.chassis.envelope import KeyRing
from services.chassis.outbox_drainer import Drainer
from services.chassis.postgres import Database
from services.chassis.service import Service, Servicer, run
from services.chassis.valkey import EvictionGuard
from services.persons.config import PersonsConfig
from services.persons.domain.generations import Generations
from services.persons.domain.lookups import Lookups
from services.persons.domain.tagged_write import TaggedWriter
from services.persons.handlers.finalize import FinalizeHandler
from services.persons.handlers.households import HouseholdsHandler
from services.persons.handlers.persons import PersonsHandler
from services.persons.handlers.unserved import StewardHandler

NAME: Final = "canopy-persons"


@asynccontextmanager
async def build(config: PersonsConfig) -> AsyncIterator[Service]:
    """Put the service together."""
    ring = KeyRing.parse(config.keys.records.reveal())
    horizon = timedelta(seconds=config.database.transaction_seconds + config.reads.known_at_margin_seconds)
    async with Database.open(config.database) as db, valkey.connect(config.valkey) as client:
        drainer = Drainer(db, RedisStreamsBus(client, config.bus), NAME, config.outbox)
        lookups = Lookups(db, ring, horizon)
        finalize = FinalizeHandler(Generations(db, released=drainer.wake), TaggedWriter(db, ring))
        yield Service(
            name=NAME,
            servicers=[
                Servicer.of(persons_service_pb2, persons_service_pb2_grpc, PersonsHandler(lookups)),
                Servicer.of(households_service_pb2, households_service_pb2_grpc, HouseholdsHandler(lookups)),
                Servicer.of(finalize_service_pb2, finalize_service_pb2_grpc, finalize),
                Servicer.of(steward_service_pb2, steward_service_pb2_grpc, StewardHandler()),
            ],
            workers=[drainer.worker, EvictionGuard(client).worker],
            checks={"database": db.ping},
        )


def main() -> None:
    """Run until SIGTERM."""
    run(NAME, PersonsConfig, build)


if __name__ == "__main__":
    main()
