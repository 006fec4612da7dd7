"""`canopy token`: a bearer token for calls by hand."""

from __future__ import annotations

import asyncio

import click

from services.chassis.oidc import IssuerClient, IssuerRefused, IssuerUnavailable
from services.cli.stack import state
from services.cli.stack.key_material import client_secret
from services.cli.stack.plan import CLIENTS
from services.cli.terminal import Exit, Failure, Terminal

_TIMEOUT_SECONDS = 10.0
_AUDIENCES = sorted({audience for client in CLIENTS for audience in client.audiences})


@click.command()
@click.option(
    "--as",
    "client_id",
    type=click.Choice([client.client_id for client in CLIENTS]),
    default="canopy-applications",
    show_default=True,
    help="Who the token stands for.",
)
@click.option(
    "--for",
    "audience",
    type=click.Choice(_AUDIENCES),
    help="Service that will accept it; the first one the client may call if unset.",
)
@click.pass_obj
def token(terminal: Terminal, *, client_id: str, audience: str | None) -> None:
    """Print a token of the embedded issuer, good for a few minutes."""
    now = state.running(terminal.home)
    if now is None or "issuer" not in now.addresses:
        raise Failure(f"Canopy does not run in {terminal.home.root}: canopy up", Exit.NOT_RUNNING)
    client = next(client for client in CLIENTS if client.client_id == client_id)
    chosen = audience or client.audiences[0]
    if chosen not in client.audiences:
        raise Failure(f"{client_id} may call {', '.join(client.audiences)}, not {chosen}")
    try:
        text, life = asyncio.run(
            _fetch(now.addresses["issuer"], client_id, client_secret(terminal.home, client_id).reveal(), chosen)
        )
    except IssuerUnavailable as error:
        raise Failure("the issuer does not answer: canopy status") from error
    except IssuerRefused as error:
        raise Failure(f"the issuer refused: {error.error}") from error
    value = {"token": text, "seconds": life, "as": client_id, "for": chosen}
    terminal.result(value, lambda _: click.echo(text))


async def _fetch(issuer: str, client_id: str, secret: str, audience: str) -> tuple[str, float]:
    async with IssuerClient.open(issuer, _TIMEOUT_SECONDS) as client:
        return await client.client_credentials(client_id, secret, audience)
