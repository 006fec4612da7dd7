"""The embedded PostgreSQL: initialise once, start, stop, and start again after a crash.

The server listens on loopback TCP only, with SCRAM; there is no unix socket whose path could be too long or whose
folder could be shared. Its log holds no DETAIL lines, since these quote the values of rows.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import asyncpg

from services.cli.stack import postgres_files
from services.cli.stack.password import ensure_password
from services.cli.stack.postgres_files import Placement
from services.cli.stack.process import LOOPBACK, Command, ServerProcess, StackError, launcher, on_free_port
from services.kernel.secret import Secret

SUPERUSER: Final = "postgres"
READY_SECONDS: Final = 30.0
STOP_SECONDS: Final = 10.0
_ORPHAN_SECONDS: Final = 10.0
_ORPHANS: Final = "pre-existing shared memory block"
_NOT_READY: Final = (
    OSError,
    TimeoutError,
    asyncpg.CannotConnectNowError,
    asyncpg.PostgresConnectionError,
    asyncpg.InvalidAuthorizationSpecificationError,  # another server on our port: ours is about to end, and to say so
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresConfig:
    """One embedded server.

    home: the stack's folder; data in postgres/, log in logs/postgres.log, superuser password in
    secrets/postgres-superuser. port: 0 chooses a free one. settings: further server settings, by name.
    """

    home: Path
    port: int = 0
    max_connections: int = 200
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    die_with_parent: bool = False


class PostgresServer:
    """A running server of ours. `process` is its supervisor's handle."""

    def __init__(self, process: ServerProcess, port: int, placement: Placement, password: Secret[str]) -> None:
        self.process: Final = process
        self.port: Final = port
        self.data: Final = placement.data
        self.password: Final = password

    @classmethod
    async def start(cls, config: PostgresConfig) -> PostgresServer:
        """Initialise the data folder if it is new, start the server and return once it answers.

        A folder left by a killed server is recovered. Raises StackError; PortTakenError when the wished port is taken.
        """
        home = config.home.absolute()
        placement = await asyncio.to_thread(postgres_files.place, home)
        password = ensure_password(home / "secrets" / "postgres-superuser")
        if not (placement.data / "PG_VERSION").exists():
            await asyncio.to_thread(_initialise, placement, password)
        used = 0

        async def launch(port: int) -> ServerProcess:
            nonlocal used
            used = port
            return await _launch(config, home, placement, password, port)

        process = await on_free_port("PostgreSQL", config.port, launch)
        return cls(process, used, placement, password)

    @classmethod
    @asynccontextmanager
    async def running(cls, config: PostgresConfig) -> AsyncIterator[PostgresServer]:
        """Run a server for the length of a block."""
        server = await cls.start(config)
        try:
            yield server
        finally:
            await server.stop()

    def dsn(self, database: str = "postgres", user: str = SUPERUSER) -> str:
        """Return the address of a database on this server, without a password."""
        return f"postgresql://{user}@{LOOPBACK}:{self.port}/{database}?sslmode=disable"

    async def stop(self) -> None:
        """Stop: open transactions are rolled back and a checkpoint is written; at once if that takes over 10 s."""
        await self.process.stop(signal.SIGINT, signal.SIGQUIT, grace=STOP_SECONDS)

    async def kill(self) -> None:
        """End the server as a crash would. Committed rows survive; the next start recovers them."""
        await self.process.kill()


def _initialise(placement: Placement, password: Secret[str]) -> None:
    """Make a data folder beside its place, then rename: an interrupted run leaves no half-made one."""
    parent = placement.data.parent
    aside = Path(tempfile.mkdtemp(prefix="postgres.new-", dir=parent))
    descriptor, name = tempfile.mkstemp(prefix="postgres.password-", dir=parent)
    password_file = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(password.reveal())
        for path in (aside, password_file):
            postgres_files.hand_over(path, placement.account)
        outcome = subprocess.run(  # noqa: S603 -- a fixed program, no shell
            [
                *launcher(placement.account),
                *(str(placement.programs / "initdb"), "--pgdata", str(aside), "--username", SUPERUSER),
                *("--pwfile", str(password_file), "--auth-host", "scram-sha-256", "--auth-local", "reject"),
                # The built-in collation: the order of texts does not change with the machine's C library.
                *("--encoding", "UTF8", "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8", "--locale", "C"),
            ],
            check=False,
            cwd="/",
            env=_environment(placement),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if outcome.returncode != 0:
            errors = [line.strip() for line in outcome.stdout.splitlines() if "error" in line]
            raise StackError(
                f"PostgreSQL cannot initialise {placement.data}: {errors[0] if errors else 'initdb failed'}"
            )
        try:
            aside.rename(placement.data)
        except OSError:
            if not (placement.data / "PG_VERSION").exists():  # else another start on this home was faster
                raise
    except OSError as error:
        raise StackError(f"PostgreSQL cannot initialise {placement.data}: {error.strerror}") from error
    finally:
        password_file.unlink()
        if aside.exists():
            shutil.rmtree(aside)


def _environment(placement: Placement) -> dict[str, str]:
    return {"PATH": str(placement.programs), "LC_ALL": "C", "TZ": "UTC"}


async def _launch(
    config: PostgresConfig, home: Path, placement: Placement, password: Secret[str], port: int
) -> ServerProcess:
    """Start once and wait until ready; wait for the orphans of a killed server to leave, at most 10 s."""
    settings = {
        "listen_addresses": LOOPBACK,
        "unix_socket_directories": "",
        "max_connections": str(config.max_connections),
        "timezone": "UTC",
        "log_timezone": "UTC",
        "log_error_verbosity": "terse",
        **config.settings,
    }
    command = Command(
        name="PostgreSQL",
        argv=[
            *(str(placement.programs / "postgres"), "-D", str(placement.data), "-p", str(port)),
            *(part for name, value in settings.items() for part in ("-c", f"{name}={value}")),
        ],
        log=home / "logs" / "postgres.log",
        working_directory=Path("/"),
        environment=_environment(placement),
        account=placement.account,
        die_with_parent=signal.SIGINT if config.die_with_parent else None,
    )
    end = time.monotonic() + _ORPHAN_SECONDS
    while True:
        _clear_stale_lock(placement.data)
        process = ServerProcess.start(command)
        try:
            await process.until_ready(lambda: _answers(port, placement.data, password), within=READY_SECONDS)
        except StackError:
            if _ORPHANS not in process.log_tail() or time.monotonic() >= end:
                raise
            await asyncio.sleep(0.1)
        except BaseException:
            await process.kill()
            raise
        else:
            return process


async def _answers(port: int, data: Path, password: Secret[str]) -> bool:
    """Tell whether the server of this very data folder answers on `port`."""
    try:
        connection = await asyncpg.connect(
            host=LOOPBACK,
            port=port,
            user=SUPERUSER,
            password=password.reveal(),
            database="postgres",
            ssl=False,
            timeout=5,
        )
    except _NOT_READY:
        return False
    try:
        return Path(await connection.fetchval("SHOW data_directory")) == data
    except _NOT_READY:
        return False
    finally:
        connection.terminate()


def _clear_stale_lock(data: Path) -> None:
    """Remove postmaster.pid when its number now belongs to another program.

    PostgreSQL itself removes the file when no process has the number, but numbers come round again soon in a
    container. Surviving children of a killed server are still noticed: by their shared memory, not by this file.
    Raises StackError when a server does run on the folder.
    """
    lock = data / "postmaster.pid"
    try:
        pid = int(lock.read_text().split("\n", 1)[0])
    except (FileNotFoundError, ValueError):
        return
    if not Path("/proc/self").exists() or not Path(f"/proc/{pid}").exists():
        return  # nothing to look at, or nothing there: PostgreSQL decides
    try:
        folder = Path(f"/proc/{pid}/cwd").readlink()  # a server works in its data folder
    except OSError:  # a zombie, or a process of another user
        folder = None
    if folder == data.resolve():
        raise StackError(f"PostgreSQL already runs on {data} (process {pid})")
    lock.unlink(missing_ok=True)
