"""`canopy migrate`: bring the databases of a home to the newest schema."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import click
from rich.console import Console

from services.cli.stack import databases, state
from services.cli.stack.home import Home, HomeLock
from services.cli.stack.postgres import PostgresConfig, PostgresServer
from services.cli.terminal import Failure, Terminal


@click.command()
@click.pass_obj
def migrate(terminal: Terminal) -> None:
    """Apply what is new. `canopy up` does it, too; where nothing runs, PostgreSQL is started for the purpose alone."""
    now = state.running(terminal.home)
    port = now.parts["postgres"].port if now is not None and "postgres" in now.parts else None
    applied = asyncio.run(databases.migrate(terminal.home, port) if port else _alone(terminal.home))
    terminal.result(applied, lambda out: _show(out, applied))


async def _alone(home: Home) -> dict[str, list[str]]:
    home.make()
    lock = HomeLock.take(home)
    if lock is None:
        raise Failure("the stack is starting or stopping: try again when it is done")
    try:
        async with PostgresServer.running(PostgresConfig(home=home.root, die_with_parent=True)) as server:
            return await databases.migrate(home, server.port)
    finally:
        lock.release()


def _show(out: Console, applied: Mapping[str, Sequence[str]]) -> None:
    for database, files in applied.items():
        out.print(f"{database}: {', '.join(files) if files else 'nothing new'}")
