"""The applications service's process: `python -m services.applications.main`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from canopy.applications.v1 import (
    applications_service_pb2,
    applications_service_pb2_grpc,
    drafts_service_pb2,
    drafts_service_pb2_grpc,
    finalize_service_pb2,
    finalize_service_pb2_grpc,
)
from services.applications.clients.persons import PersonsFinalize
from services.applications.config import ApplicationsConfig
from services.applications.domain.drafts import Drafts
from services.applications.domain.drives import Drives
from services.applications.domain.finalize import Finalizer
from services.applications.domain.hashing import PasscodeHasher
from services.applications.domain.login import Logins, Verifiers
from services.applications.domain.pepper import Pepper
from services.applications.handlers.applications import ApplicationsHandler
from services.applications.handlers.drafts import DraftsHandler
from services.applications.handlers.finalize import FinalizeHandler
from services.applications.workers.pepper_rotation import PepperRotation
from services.applications.workers.release_sweeper import ReleaseSweeper
from services.chassis import valkey
from services.chassis.background import Worker
from services.chassis.bus_redis import RedisStreamsBus
from services.chassis.channel import dial
from services.chassis.envelope import KeyRing
from services.chassis.outbox_drainer import Drainer
from services.chassis.postgres import Database
from services.chassis.service import Service, Servicer, run
from services.chassis.tokens import ClientCredentials
from services.chassis.valkey import EvictionGuard
from services.kernel.clock import SystemClock

NAME: Final = "canopy-applications"
PERSONS: Final = "canopy-persons"


@asynccontextmanager
async def build(config: ApplicationsConfig) -> AsyncIterator[Service]:
    """Put the service together."""
    pepper = Pepper(KeyRing.parse(config.keys.pepper.reveal()))
    async with (
        Database.open(config.database) as db,
        ClientCredentials.open(config.issuer, config.credentials) as tokens,
        dial(config.persons, PERSONS, tokens) as persons,
        valkey.connect(config.valkey) as client,
        Drives.open(seconds=config.finalize.drive_seconds, drain_seconds=config.finalize.drain_seconds) as drives,
    ):
        # Who guesses passcodes fills the queue of the logins; nobody is to be kept from starting a draft by that.
        with PasscodeHasher.open(config.passcodes) as starts, PasscodeHasher.open(config.passcodes) as logins:
            rotation = PepperRotation(db, pepper)
            drainer = Drainer(db, RedisStreamsBus(client, config.bus), NAME, config.outbox)
            finalizer = Finalizer.assemble(
                config, db, PersonsFinalize(persons), drives, SystemClock(), filed=drainer.wake
            )
            sweeper = ReleaseSweeper(
                claims=finalizer.claims,
                releases=finalizer.releases,
                undoing=finalizer.undoing,
                patience_seconds=config.finalize.sweep_patience_seconds,
            )
            yield Service(
                name=NAME,
                servicers=[
                    Servicer.of(
                        drafts_service_pb2,
                        drafts_service_pb2_grpc,
                        DraftsHandler(
                            Drafts(db, Verifiers(starts, pepper), pepper, config.drafts),
                            Logins(db, Verifiers(logins, pepper)),
                        ),
                    ),
                    Servicer.of(applications_service_pb2, applications_service_pb2_grpc, ApplicationsHandler(db)),
                    Servicer.of(finalize_service_pb2, finalize_service_pb2_grpc, FinalizeHandler(db, finalizer)),
                ],
                workers=[
                    drainer.worker,
                    EvictionGuard(client).worker,
                    Worker("pepper-rotation", config.passcodes.rotation_seconds, rotation.run_once),
                    Worker("release-sweeper", config.finalize.sweep_seconds, sweeper.sweep),
                ],
                checks={"database": db.ping},
            )


def main() -> None:
    """Run until SIGTERM."""
    run(NAME, ApplicationsConfig, build)


if __name__ == "__main__":
    main()
