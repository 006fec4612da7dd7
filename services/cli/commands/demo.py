"""`canopy demo`: start everything in a fresh folder, take households through the whole path, tear down."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import aiohttp
import click
from google.protobuf import json_format

from canopy.applications.v1.finalize_pb2 import FinalizeRequest
from canopy.applications.v1.finalize_service_pb2 import FilingReceipt
from services.chassis import valkey
from services.chassis.resources import shipped
from services.cli import filing
from services.cli.commands import running
from services.cli.commands.down import bring_down
from services.cli.commands.up import bring_up
from services.cli.draft_crypto import DraftCryptoError
from services.cli.edge_client import EdgeError
from services.cli.filing import FilingError
from services.cli.stack.home import Home
from services.cli.stack.plan import Options
from services.cli.terminal import Failure, Terminal
from services.cli.walk import Stage, WalkError, walk
from services.kernel.secret import Secret

EXAMPLES: Final = ("household", "three-generations", "names-and-unknowns")


@click.command()
@click.argument("files", nargs=-1, type=click.Path(dir_okay=False, path_type=Path), metavar="[FILE]...")
@click.pass_obj
def demo(terminal: Terminal, *, files: Sequence[Path]) -> None:
    """Show the whole path: draft, encrypt, resume, submit, read back. Exit code 0 only if every step was right.

    Each FILE is the JSON of a FinalizeRequest; without one, the three examples. Nothing of it stays.
    """
    forms = [(path.stem, _read(path)) for path in files or _examples()]
    folder = Path(tempfile.mkdtemp(prefix="canopy-demo-"))
    folder.chmod(0o711)  # as root, PostgreSQL runs as another user, who has to pass
    home = Home.at(folder / "home")
    stage = Terminal(home=home, as_json=terminal.as_json)
    begun = time.monotonic()
    keep_logs = False
    try:
        _tell(terminal, "[bold]Starting PostgreSQL, Valkey, Envoy and every service on this machine[/bold]")
        bring_up(stage, Options())
        receipts = asyncio.run(_walk_all(stage, forms))
    except (EdgeError, DraftCryptoError, WalkError, aiohttp.ClientError, TimeoutError) as error:
        if isinstance(error, EdgeError) and error.status < 500:
            raise Failure(f"the form was not accepted: {error}") from error
        keep_logs = True
        raise Failure(f"the demo went wrong: {error or type(error).__name__} (logs: {home.logs})") from error
    finally:
        bring_down(home)
        if not keep_logs:
            shutil.rmtree(folder)
    value = {"filed": [json_format.MessageToDict(receipt) for receipt in receipts]}
    what = "1 household" if len(receipts) == 1 else f"{len(receipts)} households"
    summary = f"{what} filed and read back in {time.monotonic() - begun:.0f} s; all of it is gone again."
    terminal.result(value, lambda out: out.print(f"\n[bold green]Everything held.[/bold green] {summary}"))


async def _walk_all(terminal: Terminal, forms: Sequence[tuple[str, FinalizeRequest]]) -> list[FilingReceipt]:
    addresses = running.addresses(terminal)
    token, _ = await running.fetch_token(terminal, "canopy-applications", "canopy-persons")
    config = valkey.ValkeyConfig(
        url=addresses["bus"], password=Secret((terminal.home.secrets / "valkey-bus").read_text().strip())
    )
    receipts: list[FilingReceipt] = []
    async with valkey.connect(config) as bus:
        stage = Stage(
            public_url=addresses["public"],
            staff_url=addresses["staff"],
            ca_file=Path(addresses["certificate authority"]),
            staff_token=token,
            bus=bus,
        )
        for title, form in forms:
            members = sum(person.HasField("member") for person in form.people)
            what = f"{len(form.people)} people, {members} of them in the household, {len(form.incomes)} incomes"
            _tell(terminal, f"\n[bold]{title}[/bold]: {what}")
            receipts.append(await walk(stage, form, lambda what, detail: _step(terminal, what, detail)))
    return receipts


def _step(terminal: Terminal, what: str, detail: str) -> None:
    _tell(terminal, f"  [green]✓[/green] {what}\n      [dim]{detail}[/dim]")


def _tell(terminal: Terminal, text: str) -> None:
    if not terminal.as_json:
        terminal.out.print(text)


def _examples() -> list[Path]:
    return [shipped("examples") / f"{name}.json" for name in EXAMPLES]


def _read(path: Path) -> FinalizeRequest:
    try:
        return filing.read(path)
    except FilingError as error:
        raise Failure(str(error)) from error
