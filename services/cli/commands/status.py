"""`canopy status`: what runs, and whether it is ready at this moment."""

from __future__ import annotations

import asyncio
import dataclasses
import ssl
from collections.abc import Mapping

import click
from rich.console import Console
from rich.table import Table

from services.cli.stack import state
from services.cli.stack.parts import is_ready
from services.cli.stack.state import PartState, PartStatus, StackState
from services.cli.terminal import Exit, Terminal


@click.command()
@click.pass_obj
def status(terminal: Terminal) -> None:
    """Show each part. Exit code 0: all ready; 3: nothing runs; 4: a part is not ready."""
    now = state.running(terminal.home)
    if now is None:
        terminal.result({"status": "down"}, lambda out: out.print(f"Canopy does not run in {terminal.home.root}."))
        click.get_current_context().exit(Exit.NOT_RUNNING)
    ready = asyncio.run(_ready(now))
    value = {
        "status": now.status,
        "supervisor": now.supervisor,
        "started_at": now.started_at,
        "addresses": dict(now.addresses),
        "parts": {name: {**dataclasses.asdict(part), "ready": ready[name]} for name, part in now.parts.items()},
    }
    terminal.result(value, lambda out: _show(out, now, ready))
    if not (ready and all(ready.values())):
        click.get_current_context().exit(Exit.UNHEALTHY)


async def _ready(now: StackState) -> dict[str, bool]:
    """Ask every part at once; a store is as ready as its process is alive, which the supervisor watches."""
    authority = now.addresses.get("certificate authority")
    trust = ssl.create_default_context(cafile=authority) if authority else None

    async def one(part: PartState) -> bool:
        if part.status is not PartStatus.HEALTHY:
            return False
        return all(await asyncio.gather(*(is_ready(url, trust) for url in part.ready_urls)))

    answers = await asyncio.gather(*(one(part) for part in now.parts.values()))
    return dict(zip(now.parts, answers, strict=True))


def _show(out: Console, now: StackState, ready: Mapping[str, bool]) -> None:
    table = Table(box=None, pad_edge=False)
    for column in ("part", "status", "port", "process", "restarts", ""):
        table.add_column(column)
    for name, part in now.parts.items():
        word = "ready" if ready[name] else ("not ready" if part.status is PartStatus.HEALTHY else part.status)
        style = "green" if ready[name] else "red"
        numbers = (str(value) if value is not None else "" for value in (part.port, part.pid, part.restarts))
        table.add_row(name, f"[{style}]{word}[/{style}]", *numbers, part.detail)
    out.print(table)
