"""The portal's process: `python -m services.portal.main`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from canopy.portal.v1 import applications_service_pb2, drafts_service_pb2, sessions_service_pb2
from canopy.portal.v1.applications_service_pb2_grpc import add_ApplicationsServiceServicer_to_server
from canopy.portal.v1.drafts_service_pb2_grpc import add_DraftsServiceServicer_to_server
from canopy.portal.v1.sessions_service_pb2_grpc import add_SessionsServiceServicer_to_server
from services.chassis.channel import dial
from services.chassis.service import Service, Servicer, run
from services.chassis.tokens import ClientCredentials
from services.chassis.valkey import EvictionGuard, connect
from services.portal.clients.applications import Applications
from services.portal.config import PortalConfig
from services.portal.domain.sessions import Sessions
from services.portal.handlers.applications import ApplicationsHandler
from services.portal.handlers.drafts import DraftsHandler
from services.portal.handlers.sessions import SessionsHandler

NAME = "canopy-portal"


@asynccontextmanager
async def build(config: PortalConfig) -> AsyncIterator[Service]:
    """Put the service together. Raises UnsafeInstanceError where the session store could lose sessions (SES-03)."""
    async with (
        connect(config.valkey) as valkey,
        ClientCredentials.open(config.issuer, config.credentials) as tokens,
        dial(config.applications, "canopy-applications", tokens) as channel,
    ):
        guard = EvictionGuard(valkey, interval=config.session.guard_seconds)
        await guard.require()

        sessions = Sessions(valkey, config.session)
        applications = Applications(channel)
        origins = frozenset(config.session.origins)
        yield Service(
            name=NAME,
            servicers=[
                Servicer(
                    descriptor=sessions_service_pb2.DESCRIPTOR.services_by_name["SessionsService"],
                    add=add_SessionsServiceServicer_to_server,
                    implementation=SessionsHandler(sessions, applications, origins),
                ),
                Servicer(
                    descriptor=drafts_service_pb2.DESCRIPTOR.services_by_name["DraftsService"],
                    add=add_DraftsServiceServicer_to_server,
                    implementation=DraftsHandler(sessions, applications, origins),
                ),
                Servicer(
                    descriptor=applications_service_pb2.DESCRIPTOR.services_by_name["ApplicationsService"],
                    add=add_ApplicationsServiceServicer_to_server,
                    implementation=ApplicationsHandler(sessions, applications),
                ),
            ],
            workers=[guard.worker],
            checks={"sessions": guard.require},
        )


def main() -> None:
    """Run until SIGTERM."""
    run(NAME, PortalConfig, build)


if __name__ == "__main__":
    main()
