"""`canopy down`: stop the stack of a home."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import Final

import click

from services.cli.stack.home import Home, supervisor_pid
from services.cli.terminal import Failure, Terminal

# Longer than every part in turn may take to drain.
STOP_SECONDS: Final = 120.0
_POLL_SECONDS: Final = 0.05


@click.command()
@click.pass_obj
def down(terminal: Terminal) -> None:
    """Stop everything in reverse order. The data stays; `canopy up` goes on with it."""
    stopped = bring_down(terminal.home)
    text = "Canopy is down." if stopped else f"Canopy does not run in {terminal.home.root}."
    terminal.result({"stopped": stopped}, lambda out: out.print(text))


def bring_down(home: Home) -> bool:
    """Stop the stack of a home and wait for its end; False when none runs. Raises Failure."""
    pid = supervisor_pid(home)
    if pid is None:
        return False
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    end = time.monotonic() + STOP_SECONDS
    while supervisor_pid(home) == pid:
        if time.monotonic() > end:
            raise Failure(f"the supervisor (process {pid}) has not stopped within {STOP_SECONDS:g} s")
        time.sleep(_POLL_SECONDS)
    return True
