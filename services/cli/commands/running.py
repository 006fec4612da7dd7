"""What commands need of the running stack: its addresses, and tokens of its issuer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from services.chassis.oidc import IssuerClient, IssuerRefused, IssuerUnavailable
from services.cli.stack import state
from services.cli.stack.key_material import client_secret
from services.cli.terminal import Exit, Failure, Terminal

_TIMEOUT_SECONDS: Final = 10.0


def addresses(terminal: Terminal) -> Mapping[str, str]:
    """Return the addresses of the running stack by name. Raises Failure when it does not run."""
    now = state.running(terminal.home)
    if now is None or "issuer" not in now.addresses:
        raise Failure(f"Canopy does not run in {terminal.home.root}: canopy up", Exit.NOT_RUNNING)
    return now.addresses


def token(terminal: Terminal, client_id: str, audience: str) -> tuple[str, float]:
    """Return a token of the embedded issuer and its life in seconds. Raises Failure."""
    return asyncio.run(fetch_token(terminal, client_id, audience))


async def fetch_token(terminal: Terminal, client_id: str, audience: str) -> tuple[str, float]:
    """Do what `token` does, from a running loop."""
    secret = client_secret(terminal.home, client_id).reveal()
    try:
        async with IssuerClient.open(addresses(terminal)["issuer"], _TIMEOUT_SECONDS) as client:
            return await client.client_credentials(client_id, secret, audience)
    except IssuerUnavailable as error:
        raise Failure("the issuer does not answer: canopy status") from error
    except IssuerRefused as error:
        raise Failure(f"the issuer refused: {error.error}") from error
