"""Child processes of the embedded stack: start, watch, wait until ready, stop; and loopback ports.

A server is a foreground child in a session of its own, so that an interrupt typed at the terminal reaches the
supervisor alone and the stop order stays ours. Its output goes to one log file, never to a pipe nobody reads.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

LAUNCHER: Final = Path(__file__).with_name("launch.py")
LOOPBACK: Final = "127.0.0.1"
PORT_ATTEMPTS: Final = 5
_POLL_SECONDS: Final = 0.02
_LOG_TAIL_BYTES: Final = 4096
_ERROR_LINE: Final = re.compile(r"FATAL|PANIC|[Ee]rror|could not|denied")


class StackError(Exception):
    """The stack cannot start or stop something. The text is one line, made for the operator."""


class PortTakenError(StackError):
    """Another program listens on the port a server was to use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """An operating-system user a child runs as, without further groups."""

    name: str
    uid: int
    gid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """How to start one server.

    argv: program (absolute path) and arguments; visible to every user of the machine, so never a secret.
    environment: the child's whole environment. account: whom to run as, None for ourselves.
    die_with_parent: a signal the kernel sends the child when the *thread* that started it ends, however it ends
    (Linux only; ignored elsewhere). Start from the main thread, or from one that outlives the child.
    """

    name: str
    argv: Sequence[str]
    log: Path
    working_directory: Path
    environment: Mapping[str, str]
    account: Account | None = None
    die_with_parent: signal.Signals | None = None


def launcher(account: Account | None, bound_to_parent: signal.Signals | None = None) -> list[str]:
    """Begin the argument list of a program that runs as another user: after an exec, never in a fork of ours.

    subprocess's own `user` forks, and a fork of a process with threads (gRPC's) can crash before it execs.
    """
    return [
        *(sys.executable, "-I", "-S", str(LAUNCHER)),
        *((str(account.uid), str(account.gid)) if account else ("-1", "-1")),
        *(str(int(bound_to_parent or 0)), str(os.getpid())),
    ]


class ServerProcess:
    """One running child. Not restarted here: that is the supervisor's decision."""

    def __init__(self, command: Command, child: subprocess.Popen[bytes], log_start: int) -> None:
        self._command: Final = command
        self._child: Final = child
        self._log_start: Final = log_start

    @classmethod
    def start(cls, command: Command) -> ServerProcess:
        """Start the child and return at once. Raises StackError when the log or the program cannot be opened."""
        bound_to_parent = command.die_with_parent if sys.platform == "linux" else None
        launch = launcher(command.account, bound_to_parent)
        try:
            command.log.parent.mkdir(parents=True, exist_ok=True)
            with command.log.open("ab") as log:
                start = log.tell()
                child = subprocess.Popen(  # noqa: S603 -- a fixed program, no shell
                    [*launch, *command.argv],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    cwd=command.working_directory,
                    env=dict(command.environment),
                    start_new_session=True,
                )
        except OSError as error:
            raise StackError(f"{command.name} cannot start: {error.strerror}: {error.filename}") from error
        return cls(command, child, start)

    @property
    def name(self) -> str:
        """The server's name, as in messages to the operator."""
        return self._command.name

    @property
    def pid(self) -> int:
        """The process id of the server itself (the launcher replaces itself, so there is no process between)."""
        return self._child.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs; the exit status, or minus the signal that ended it."""
        return self._child.poll()

    @property
    def log(self) -> Path:
        """The file that receives everything the server prints."""
        return self._command.log

    def log_tail(self) -> str:
        """Return the end of what this run has printed, at most 4 KiB."""
        try:
            with self._command.log.open("rb") as log:
                end = log.seek(0, os.SEEK_END)
                log.seek(max(self._log_start, end - _LOG_TAIL_BYTES))
                return log.read().decode(errors="replace")
        except OSError:
            return ""

    async def wait(self) -> int:
        """Wait until the server has ended, for whatever reason; return its exit code."""
        while (code := self._child.poll()) is None:  # noqa: ASYNC110 -- no event for it on every platform
            await asyncio.sleep(_POLL_SECONDS)
        return code

    async def stop(self, *how: signal.Signals, grace: float) -> int:
        """Send each signal, allow `grace` seconds (> 0) after each, kill after the last; return the exit code."""
        for each in how or (signal.SIGTERM,):
            if self._child.poll() is None:
                self._child.send_signal(each)
            try:
                async with asyncio.timeout(grace):
                    return await self.wait()
            except TimeoutError:
                continue
        return await self.kill()

    async def kill(self) -> int:
        """End the server with SIGKILL and reap it; return its exit code."""
        if self._child.poll() is None:
            self._child.kill()
        return await self.wait()

    async def until_ready(self, probe: Callable[[], Awaitable[bool]], *, within: float) -> None:
        """Poll `probe` until it holds. `within`: seconds.

        Raises PortTakenError when the server ended because its port is in use, StackError when it ended for another
        reason or is not ready in time (it is then killed).
        """
        end = time.monotonic() + within
        while not await probe():
            if self._child.poll() is not None:
                raise self._ended()
            if time.monotonic() >= end:
                await self.kill()
                raise StackError(f"{self.name} was not ready within {within:g} s; see {self.log}")
            await asyncio.sleep(_POLL_SECONDS)

    def _ended(self) -> StackError:
        tail = self.log_tail()
        if "Address already in use" in tail:
            return PortTakenError(f"{self.name} cannot start: its port is taken by another program")
        lines = [line.strip() for line in tail.splitlines() if line.strip()] or ["it printed nothing"]
        cause = next((line for line in lines if _ERROR_LINE.search(line)), lines[-1])
        return StackError(f"{self.name} ended with code {self._child.returncode}: {cause} (log: {self.log})")


def free_port() -> int:
    """Return a loopback port that was free a moment ago. It may be taken before it is used: see `on_free_port`."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return probe.getsockname()[1]


def require_free_port(name: str, port: int) -> None:
    """Raise PortTakenError when something listens on loopback `port`."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port in TIME_WAIT is free for a server
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            raise PortTakenError(f"{name} cannot start: port {port} is taken by another program") from error


async def on_free_port(name: str, port: int, start: Callable[[int], Awaitable[ServerProcess]]) -> ServerProcess:
    """Run `start(port)`; with port 0 choose one, and choose again when another program was faster.

    Raises PortTakenError when the wished port is taken, or when five chosen ones were.
    """
    if port:
        require_free_port(name, port)
        return await start(port)
    for _ in range(PORT_ATTEMPTS - 1):
        try:
            return await start(free_port())
        except PortTakenError:
            continue
    return await start(free_port())
