"""`canopy persons get` and `canopy households get`: what is on record for a day."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import click
import grpc
from google.protobuf import json_format
from google.protobuf.message import Message
from rich.console import Console

from canopy.errors.v1.reason_pb2 import Reason
from interceptors.client.status import details_of
from services.cli import records
from services.cli.commands import running
from services.cli.terminal import Failure, Terminal

CALLER: Final = "canopy-applications"
AUDIENCE: Final = "canopy-persons"

E = TypeVar("E", bound=Message)


@click.group()
def persons() -> None:
    """People on record."""


@click.group()
def households() -> None:
    """Households on record."""


def _as_of(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what both reads ask for."""
    command = click.option("--as-of", required=True, metavar="YYYY-MM-DD", help="The day to read for.")(command)
    return click.argument("ids", nargs=-1, required=True, metavar="ID...")(command)


@persons.command("get")
@_as_of
@click.pass_obj
def get_persons(terminal: Terminal, *, ids: Sequence[str], as_of: str) -> None:
    """Print people as they stood on a day. The stack's own service identity asks; what it prints is personal."""
    _print(terminal, _read(terminal, records.persons, ids, as_of))


@households.command("get")
@_as_of
@click.pass_obj
def get_households(terminal: Terminal, *, ids: Sequence[str], as_of: str) -> None:
    """Print households as they stood on a day, with members and incomes. What it prints is personal."""
    _print(terminal, _read(terminal, records.households, ids, as_of))


def _read(
    terminal: Terminal,
    read: Callable[[grpc.Channel, str, Sequence[str], str], list[E]],
    ids: Sequence[str],
    as_of: str,
) -> list[E]:
    target = running.addresses(terminal)["persons"].removeprefix("http://")
    token, _ = running.token(terminal, CALLER, AUDIENCE)
    try:
        with grpc.insecure_channel(target) as channel:
            return read(channel, token, ids, as_of)
    except grpc.RpcError as error:
        raise Failure(_say(error)) from error


def _print(terminal: Terminal, entries: Sequence[Message]) -> None:
    value = [json_format.MessageToDict(entry) for entry in entries]

    def show(out: Console) -> None:
        for entry in value:
            out.print_json(data=entry)

    terminal.result(value, show)


def _say(error: Any) -> str:
    """Say a refusal in one line: the reason and the fields it names, or the bare status."""
    details = details_of(error)
    fields = ", ".join(f"{broken.field}: {broken.rule}" for broken in details.violations)
    name = Reason.Name(details.reason) if details.reason else error.code().name
    return f"refused: {name}" + (f" ({fields})" if fields else "")
