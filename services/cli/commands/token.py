"""`canopy token`: a bearer token for calls by hand."""

from __future__ import annotations

from typing import Final

import click

from services.cli.commands import running
from services.cli.stack.plan import CLIENTS
from services.cli.terminal import Failure, Terminal

_AUDIENCES: Final = sorted({audience for client in CLIENTS for audience in client.audiences})


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
    client = next(client for client in CLIENTS if client.client_id == client_id)
    chosen = audience or client.audiences[0]
    if chosen not in client.audiences:
        raise Failure(f"{client_id} may call {', '.join(client.audiences)}, not {chosen}")
    text, life = running.token(terminal, client_id, chosen)
    value = {"token": text, "seconds": life, "as": client_id, "for": chosen}
    terminal.result(value, lambda _: click.echo(text))
