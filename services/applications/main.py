"""The applications service's process: `python -m services.applications.main`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from canopy.applications.v1 import applications_service_pb2, drafts_service_pb2
from canopy.applications.v1.applications_service_pb2_grpc import add_ApplicationsServiceServicer_to_server
from canopy.applications.v1.drafts_service_pb2_grpc import add_DraftsServiceServicer_to_server
from services.applications.config import ApplicationsConfig
from services.applications.domain.drafts import Drafts
from services.applications.domain.hashing import PasscodeHasher
from services.applications.domain.login import Logins, Verifiers
from services.applications.domain.pepper import Pepper
from services.applications.handlers.applications import ApplicationsHandler
from services.applications.handlers.drafts import DraftsHandler
from services.applications.workers.pepper_rotation import PepperRotation
from services.chassis.background import Worker
from services.chassis.envelope import KeyRing
from services.chassis.postgres import Database
from services.chassis.service import Service, Servicer, run

NAME = "canopy-applications"


@asynccontextmanager
async def build(config: ApplicationsConfig) -> AsyncIterator[Service]:
    """Put the service together."""
    pepper = Pepper(KeyRing.parse(config.keys.pepper.reveal()))
    async with Database.open(config.database) as db:
        with PasscodeHasher.open(config.passcodes) as hasher:
            verifiers = Verifiers(hasher, pepper)
            rotation = PepperRotation(db, pepper)
            yield Service(
                name=NAME,
                servicers=[
                    Servicer(
                        descriptor=drafts_service_pb2.DESCRIPTOR.services_by_name["DraftsService"],
                        add=add_DraftsServiceServicer_to_server,
                        implementation=DraftsHandler(
                            Drafts(db, verifiers, pepper, config.drafts), Logins(db, verifiers)
                        ),
                    ),
                    Servicer(
                        descriptor=applications_service_pb2.DESCRIPTOR.services_by_name["ApplicationsService"],
                        add=add_ApplicationsServiceServicer_to_server,
                        implementation=ApplicationsHandler(db),
                    ),
                ],
                workers=[Worker("pepper-rotation", config.passcodes.rotation_seconds, rotation.run_once)],
                checks={"database": db.ping},
            )


def main() -> None:
    """Run until SIGTERM."""
    run(NAME, ApplicationsConfig, build)


if __name__ == "__main__":
    main()
