"""The folder of a stack: its lock, its state, its ports and its keys."""

from __future__ import annotations

import multiprocessing
import os
import socket
import stat
from pathlib import Path

import pytest

from services.chassis.envelope import KeyRing
from services.cli.stack import state
from services.cli.stack.home import Home, HomeLock, supervisor_pid
from services.cli.stack.key_material import ensure_rings, ring_path
from services.cli.stack.ports import FixedPort, choose_ports
from services.cli.stack.process import PortTakenError, StackError, free_port
from services.cli.stack.state import PartState, PartStatus, StackState, StackStatus


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home.at(tmp_path / "home")
    made.make()
    return made


def running_state(supervisor: int) -> StackState:
    part = PartState(status=PartStatus.HEALTHY, pid=7, port=8443, ready_urls=("https://localhost/readyz",), restarts=2)
    return StackState(
        status=StackStatus.RUNNING,
        supervisor=supervisor,
        started_at="2026-12-01T00:00:00+00:00",
        parts={"edge": part},
        addresses={"public": "https://localhost:8443"},
        notices=("Keep a copy.",),
    )


def test_secrets_of_a_home_are_closed_to_others(home: Home) -> None:
    """OPS-01: others may pass through a home, as PostgreSQL's own user must, and can list or read nothing."""
    assert stat.S_IMODE(home.root.stat().st_mode) == 0o711
    assert stat.S_IMODE(home.secrets.stat().st_mode) == 0o700
    assert stat.S_IMODE(home.logs.stat().st_mode) == 0o700


def test_home_that_cannot_be_made_is_one_plain_line(tmp_path: Path) -> None:
    """OPS-01: a broken place is said with its path and the option that names another."""
    (tmp_path / "file").touch()

    with pytest.raises(StackError, match=r"cannot write to .*/home: Not a directory\. Name another folder: --home"):
        Home.at(tmp_path / "file" / "home").make()


def test_lock_is_held_once_and_told_to_others(home: Home) -> None:
    """OPS-01: two supervisors never run one home."""
    assert supervisor_pid(home) is None

    lock = HomeLock.take(home)

    assert lock is not None
    assert HomeLock.take(home) is None
    assert supervisor_pid(home) == os.getpid()
    lock.release()
    assert supervisor_pid(home) is None


def _hold_and_die(root: Path) -> None:
    held = Home.at(root)
    assert HomeLock.take(held) is not None
    state.save(held, running_state(os.getpid()))
    os._exit(1)


def test_state_of_a_stack_that_died_is_not_believed(home: Home) -> None:
    """OPS-01: a state file without a held lock is left over, whatever it says."""
    child = multiprocessing.get_context("spawn").Process(target=_hold_and_die, args=(home.root,))
    child.start()
    child.join()

    left_over = state.saved(home)
    assert left_over is not None
    assert left_over.status is StackStatus.RUNNING
    assert state.running(home) is None


def test_state_survives_the_file(home: Home) -> None:
    """OPS-02: what the supervisor says is what a command reads."""
    lock = HomeLock.take(home)
    said = running_state(os.getpid())

    state.save(home, said)

    assert state.running(home) == said
    assert lock is not None
    lock.release()


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"parts": 3}', '{"status": "up"}'])
def test_broken_state_is_no_state(home: Home, content: str) -> None:
    """OPS-02: a file that is cut short does not break a command."""
    home.state.write_text(content)

    assert state.saved(home) is None


def test_ports_are_kept_while_they_are_free(home: Home) -> None:
    """OPS-01: a restarted stack is where it was; a port that was taken meanwhile is replaced."""
    first = choose_ports(home, ["a", "b"], {}, {})

    assert choose_ports(home, ["a", "b"], {}, {}) == first
    with socket.socket() as other:
        other.bind(("127.0.0.1", first["a"]))
        other.listen()
        second = choose_ports(home, ["a", "b"], {}, {})
    assert second["a"] != first["a"]
    assert second["b"] == first["b"]


def test_fixed_port_that_is_taken_names_its_option(home: Home) -> None:
    """OPS-01: the operator reads which option to change."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        number = other.getsockname()[1]
        with pytest.raises(PortTakenError, match=f"--public-port {number}: another program listens on this port"):
            choose_ports(home, [], {"public": FixedPort(number=number, option="--public-port")}, {})


def test_two_fixed_ports_may_not_be_the_same(home: Home) -> None:
    """OPS-01: a mistake in the options is found before anything starts."""
    number = free_port()
    fixed = {name: FixedPort(number=number, option=f"--{name}-port") for name in ("public", "staff")}

    with pytest.raises(PortTakenError, match=f"--staff-port {number}: another part has this port already"):
        choose_ports(home, [], fixed, {})


def test_preferred_port_is_a_wish(home: Home) -> None:
    """OPS-01: a second stack beside the first takes other ports without being told."""
    wished = free_port()
    assert choose_ports(home, ["public"], {}, {"public": wished}) == {"public": wished}

    beside = Home.at(home.root / "beside")
    beside.make()
    with socket.socket() as other:
        other.bind(("127.0.0.1", wished))
        other.listen()
        assert choose_ports(beside, ["public"], {}, {"public": wished}) != {"public": wished}


def test_key_ring_is_made_once_and_is_readable_by_us_alone(home: Home) -> None:
    """OPS-12: the ring can be used, is closed to others, and a second start keeps it."""
    assert ensure_rings(home, ["records"]) == ["records"]
    path = ring_path(home, "records")
    content = path.read_bytes()

    assert ensure_rings(home, ["records"]) == []
    assert path.read_bytes() == content
    assert KeyRing.parse(content).active == "k1"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_lost_key_ring_is_not_replaced(home: Home) -> None:
    """OPS-12: a new ring would hide that the data can no longer be read."""
    ensure_rings(home, ["records"])
    ring_path(home, "records").unlink()

    with pytest.raises(StackError, match=r"ring-records\.json is gone, and with it the way to read the data"):
        ensure_rings(home, ["records"])
