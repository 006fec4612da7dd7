"""`canopy up`: start the whole stack and say how to reach it."""

from __future__ import annotations

import dataclasses
import json
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Final

import click
from rich.console import Console, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from services.cli.commands.down import bring_down
from services.cli.stack import state
from services.cli.stack.envoy_program import envoy_program
from services.cli.stack.home import DEFAULT_HOME, Home, supervisor_pid
from services.cli.stack.plan import Options
from services.cli.stack.process import StackError
from services.cli.stack.state import PartStatus, StackState, StackStatus
from services.cli.stack.supervisor import EXIT_HELD
from services.cli.terminal import Failure, Terminal

START_SECONDS: Final = 300.0
_POLL_SECONDS: Final = 0.1
_MARKS: Final = {
    PartStatus.WAITING: ("·", "dim"),
    PartStatus.STARTING: ("…", "yellow"),
    PartStatus.HEALTHY: ("✓", "green"),
    PartStatus.RESTARTING: ("↻", "yellow"),
    PartStatus.FAILED: ("✗", "red"),
    PartStatus.STOPPED: ("-", "dim"),
}


@click.command()
@click.option("--public-port", type=click.IntRange(1, 65_535), help="Port of the public REST edge. Chosen if unset.")
@click.option("--staff-port", type=click.IntRange(1, 65_535), help="Port of the staff edge. Chosen if unset.")
@click.option("--foreground", is_flag=True, help="Stay attached; an interrupt stops the stack.")
@click.pass_obj
def up(terminal: Terminal, *, public_port: int | None, staff_port: int | None, foreground: bool) -> None:
    """Start PostgreSQL, Valkey, every service and the edge; return when all of them are ready.

    What runs already stays as it is. The ports are chosen at the first start and kept in the home.
    """
    options = Options(public_port=public_port, staff_port=staff_port)
    before = state.running(terminal.home)
    if before is not None and before.status is StackStatus.RUNNING:
        _report(terminal, before, already=True)
        return
    try:
        final, child = bring_up(terminal, options)
    except KeyboardInterrupt:
        bring_down(terminal.home)
        raise
    for notice in final.notices:
        click.secho(f"canopy: {notice}", fg="yellow", err=True)
    _report(terminal, final, already=False)
    if foreground and child is not None:
        _stay(child)


def bring_up(terminal: Terminal, options: Options) -> tuple[StackState, subprocess.Popen[bytes] | None]:
    """Start the stack, or watch another command start it, and show it. Raises Failure unless all of it is ready.

    Returns the state and the supervisor, where it was started here.
    """
    home = terminal.home
    home.make()
    envoy_program()
    child = None if state.running(home) else _spawn(home, options)
    final = _follow(terminal, home, child)
    if final.status is not StackStatus.RUNNING:
        raise Failure(f"{final.error or 'the stack was stopped while it started'} (logs: {home.logs})")
    return final, child


def _spawn(home: Home, options: Options) -> subprocess.Popen[bytes]:
    """Start the supervisor, in a session of its own: it outlives this command and its terminal."""
    argv = [sys.executable, "-P", "-m", "services.cli.stack.supervisor"]
    with (home.logs / "supervisor.log").open("ab") as log:
        return subprocess.Popen(  # noqa: S603 -- ourselves
            [*argv, str(home.root), json.dumps(dataclasses.asdict(options))],
            cwd=home.root,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _follow(terminal: Terminal, home: Home, child: subprocess.Popen[bytes] | None) -> StackState:
    """Show the start as it happens; return the state in which it ended."""
    if terminal.as_json:
        return _last(_states(home, child))
    if not terminal.out.is_terminal:
        return _last(_narrated(terminal.out, _states(home, child)))
    with Live(console=terminal.out, transient=True, refresh_per_second=8) as live:
        return _last(_drawn(live, _states(home, child)))


def _states(home: Home, child: subprocess.Popen[bytes] | None) -> Iterator[StackState]:
    """Yield the state until the start has ended. child: the supervisor we started, None to watch another's."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        ended = child.poll() if child else None
        now = state.saved(home)
        if now is not None and now.supervisor == (child.pid if child else supervisor_pid(home)):
            yield now
            if now.status is not StackStatus.STARTING:
                return
        elif ended == EXIT_HELD:
            child = None  # another start was faster: watch that one
        elif ended is not None:
            raise StackError(f"the supervisor ended with code {ended}; see {home.logs / 'supervisor.log'}")
        elif child is None and supervisor_pid(home) is None:
            raise StackError(f"the stack was stopped while it started; see {home.logs}")
        time.sleep(_POLL_SECONDS)
    raise StackError(f"the stack was not up within {START_SECONDS:g} s; see {home.logs}")


def _last(states: Iterator[StackState]) -> StackState:
    *_, last = states
    return last


def _narrated(out: Console, states: Iterator[StackState]) -> Iterator[StackState]:
    """Print a line for each part as it becomes ready, for pipes and logs."""
    told: set[str] = set()
    for now in states:
        for name, part in now.parts.items():
            if part.status is PartStatus.HEALTHY and name not in told:
                told.add(name)
                out.print(f"{name} is ready")
        yield now


def _drawn(live: Live, states: Iterator[StackState]) -> Iterator[StackState]:
    for now in states:
        live.update(_picture(now))
        yield now


def _picture(now: StackState) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for name, part in now.parts.items():
        mark, style = _MARKS[part.status]
        table.add_row(Text(mark, style=style), name, Text(part.status, style=style), Text(part.detail, style="dim"))
    return table


def _report(terminal: Terminal, now: StackState, *, already: bool) -> None:
    value = {
        "status": now.status,
        "already_running": already,
        "home": str(terminal.home.root),
        "addresses": dict(now.addresses),
    }
    terminal.result(value, lambda out: _say(out, terminal.home, now, already=already))


def _say(out: Console, home: Home, now: StackState, *, already: bool) -> None:
    out.print(f"[bold]Canopy is up[/bold]{' already' if already else ''}: {len(now.parts)} parts, data in {home.root}")
    addresses = now.addresses
    table = Table.grid(padding=(0, 2))
    for name, address in addresses.items():
        table.add_row(f"  {name}", address)
    out.print()
    out.print(table)
    default = home == Home.at(Path(DEFAULT_HOME))
    canopy = _program("canopy") + ("" if default else f" --home {shlex.quote(str(home.root))}")
    authority = shlex.quote(addresses["certificate authority"])
    call = (
        f"{_program('buf')} curl --protocol grpc --http2-prior-knowledge "
        f'-H "authorization: Bearer $({canopy} token)" '
        """-d '{"personIds": ["00000000-0000-4000-8000-000000000000"], "asOf": "2026-01-01"}' """
        f"{addresses['persons']}/canopy.persons.v1.PersonsService/BatchGetPersons"
    )
    for what, line in (
        ("Ask the edge", f"curl --cacert {authority} {addresses['public']}/readyz"),
        ("Call a service", call),
        ("See the logs", f"tail -f {shlex.quote(str(home.logs))}/*.log"),
        ("Look, stop", f"{canopy} status   {canopy} down"),
    ):
        out.print(f"\n{what}:")
        out.print(Text(f"  {line}"), soft_wrap=True)


def _program(name: str) -> str:
    """Spell one of our programs so that it can be pasted: its bare name where the shell finds that very one."""
    ours = Path(sys.executable).with_name(name)
    found = shutil.which(name)
    if found is not None and Path(found) == ours:
        return name
    return shlex.quote(str(ours.relative_to(Path.cwd()) if ours.is_relative_to(Path.cwd()) else ours))


def _stay(child: subprocess.Popen[bytes]) -> None:
    """Wait for the supervisor; an interrupt or SIGTERM to us stops it."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    try:
        code = child.wait()
    except KeyboardInterrupt:
        child.terminate()
        code = child.wait()
    if code != 0:
        raise Failure(f"the supervisor ended with code {code}")
