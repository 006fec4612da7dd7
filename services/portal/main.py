"""The portal's process: `python -m services.portal.main`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from canopy.portal.v1 import (
    applications_service_pb2,
    applications_service_pb2_grpc,
    drafts_service_pb2,
    drafts_service_pb2_grpc,
    sessions_service_pb2,
    sessions_service_pb2_grpc,
)
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

NAME: Final = "canopy-portal"


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
                Servicer.of(
                    sessions_service_pb2, sessions_service_pb2_grpc, SessionsHandler(sessions, applications, origins)
                ),
                Servicer.of(
                    drafts_service_pb2, drafts_service_pb2_grpc, DraftsHandler(sessions, applications, origins)
                ),
                Servicer.of(
                    applications_service_pb2, applications_service_pb2_grpc, ApplicationsHandler(sessions, applications)
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
