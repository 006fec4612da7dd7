"""`canopy edge`: look at the configuration of the edge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import click

from services.cli.stack.edge_routes import EdgeContractError, contract_path, read_rules
from services.cli.stack.envoy import PUBLIC_SERVICES, STAFF_SERVICES, Address, EdgeSettings, edge_config
from services.cli.stack.process import LOOPBACK
from services.cli.terminal import Failure, Terminal

_PORT: Final = click.IntRange(1, 65_535)


@click.group()
def edge() -> None:
    """Look at the edge's configuration."""


@edge.command("print")
@click.option("--public-port", type=_PORT, default=8443, show_default=True, help="Port of the public listener.")
@click.option("--staff-port", type=_PORT, default=8444, show_default=True, help="Port of the staff listener.")
@click.option("--grpc-port", type=_PORT, default=50_051, show_default=True, help="Port of every service.")
@click.pass_obj
def print_config(terminal: Terminal, *, public_port: int, staff_port: int, grpc_port: int) -> None:
    """Print an Envoy configuration made from the contract, as JSON (which Envoy reads)."""
    settings = EdgeSettings(
        public=Address(host=LOOPBACK, port=public_port),
        staff=Address(host=LOOPBACK, port=staff_port),
        certificate=terminal.home.tls / "server.pem",
        private_key=terminal.home.tls / "server.key",
        contract=contract_path(),
        upstreams={name: Address(host=LOOPBACK, port=grpc_port) for name in sorted(PUBLIC_SERVICES | STAFF_SERVICES)},
        admin=Path("edge-admin.sock"),
    )
    try:
        config = edge_config(settings, read_rules(settings.contract.read_bytes()))
    except EdgeContractError as error:
        raise Failure(str(error)) from error
    click.echo(json.dumps(config, indent=2))
