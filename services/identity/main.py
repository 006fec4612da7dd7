"""The issuer's process: `python -m services.identity.main`."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from aiohttp import web

from services.chassis.service import Service, run
from services.identity.config import IdentityConfig
from services.identity.domain.grant import IssueLimit
from services.identity.handlers import metadata
from services.identity.handlers.token import BODY_MAX_BYTES, TokenHandler
from services.identity.store.clients import ClientsFile
from services.identity.store.keys import KeyFolder
from services.kernel.clock import SystemClock

NAME: Final = "canopy-identity"


@asynccontextmanager
async def build(config: IdentityConfig) -> AsyncIterator[Service]:
    """Put the issuer together. A first signing key is made where there is none."""
    clock = SystemClock()
    keys = KeyFolder(config.signing.folder)
    keys.ensure_key(clock.now())
    clients = ClientsFile(config.token.clients_path)
    token = TokenHandler(
        issuer=config.token.issuer,
        life_seconds=config.token.life_seconds,
        clients=clients,
        keys=keys,
        limit=IssueLimit(config.token.per_minute, time.monotonic),
        clock=clock,
    )
    application = web.Application(client_max_size=BODY_MAX_BYTES)
    application.add_routes([*metadata.routes(config.token.issuer, keys), web.post("/token", token.answer)])

    async def has_keys() -> None:
        keys.present()

    async def has_clients() -> None:
        clients.clients()

    yield Service(name=NAME, http=application, checks={"keys": has_keys, "clients": has_clients})


def main() -> None:
    """Run until SIGTERM."""
    run(NAME, IdentityConfig, build)


if __name__ == "__main__":
    main()
