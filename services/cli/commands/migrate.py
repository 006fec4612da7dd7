"""`canopy migrate`: bring the databases of a home to the newest schema."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import asyncpg
import click
from rich.console import Console

from services.chassis.migrate import MigrationError, Stage, apply
from services.cli.stack import databases, state
from services.cli.stack.databases import DATABASES
from services.cli.stack.home import Home, HomeLock
from services.cli.stack.postgres import PostgresConfig, PostgresServer
from services.cli.terminal import Failure, Terminal
from services.kernel.secret import Secret


@click.command()
@click.option("--dsn", metavar="URL", help="An external database, as its owner; without a password.")
@click.option("--database", type=click.Choice(sorted(DATABASES)), help="Which of ours the external database is.")
@click.option("--password-file", type=click.Path(dir_okay=False, path_type=Path), help="Password of that owner.")
@click.option("--pre", is_flag=True, help="Only what must be there before the new code runs.")
@click.pass_obj
def migrate(
    terminal: Terminal, *, dsn: str | None, database: str | None, password_file: Path | None, pre: bool
) -> None:
    """Apply what is new. `canopy up` does it, too; where nothing runs, PostgreSQL is started for the purpose alone.

    With --dsn, --database and --password-file: the same for a database that somebody else runs. Its roles must be
    there: the owner, and the NOLOGIN role canopy_service of which the service's role is a member.
    """
    external = (dsn, database, password_file)
    if any(external) and not all(external):
        raise click.UsageError("--dsn, --database and --password-file go together")
    if pre and dsn is None:
        raise click.UsageError("--pre is for an external database: `canopy up` runs one version only")
    if dsn and database and password_file:
        applied = {database: _external(dsn, database, password_file, Stage.PRE if pre else Stage.POST)}
    else:
        now = state.running(terminal.home)
        port = now.parts["postgres"].port if now is not None and "postgres" in now.parts else None
        applied = asyncio.run(databases.migrate(terminal.home, port) if port else _alone(terminal.home))
    terminal.result(applied, lambda out: _show(out, applied))


def _external(dsn: str, database: str, password_file: Path, through: Stage) -> list[str]:
    try:
        password = Secret(password_file.read_text(encoding="utf-8").strip())
        return asyncio.run(apply(dsn, DATABASES[database], password=password, through=through))
    except (MigrationError, asyncpg.PostgresError, asyncpg.InterfaceError, OSError, ValueError) as error:
        raise Failure(f"{database} cannot be migrated: {type(error).__name__}: {error}") from error


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
