"""The whole stack, started and stopped by its own command, as a person would."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import ssl
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.machine import Machine, execute, new_home

NOBODY = "00000000-0000-4000-8000-000000000000"


async def staff_call(machine: Machine, addresses: dict[str, str]) -> Any:
    """Read a person that nobody knows, through the staff edge, with a token of the embedded issuer."""
    token = (await machine.canopy("token")).out.strip()
    trust = ssl.create_default_context(cafile=addresses["certificate authority"])
    async with (
        aiohttp.ClientSession() as session,
        session.post(
            f"{addresses['staff']}/v1/persons:batchGet",
            json={"personIds": [NOBODY], "asOf": "2026-01-01"},
            headers={"authorization": f"Bearer {token}"},
            ssl=trust,
        ) as response,
    ):
        assert response.status == 200
        return await response.json()


async def test_every_part_is_ready_and_the_mesh_answers(machine: Machine) -> None:
    """OPS-01: one command brings up stores, services and edge; a call crosses edge, service and database."""
    now = await machine.status()

    assert {name for name, part in now["parts"].items() if part["ready"]} == {
        "postgres", "valkey-sessions", "valkey-bus", "identity", "persons", "applications", "portal", "edge",
    }  # fmt: skip
    answer = await staff_call(machine, now["addresses"])
    assert answer["entries"] == [{"personId": NOBODY, "absent": "ABSENCE_UNKNOWN"}]


async def test_second_up_says_so_and_succeeds(machine: Machine) -> None:
    """OPS-01: starting what runs is no mistake and changes nothing."""
    before = await machine.status()

    again = await machine.canopy("--json", "up")

    assert again.code == 0
    assert again.json()["already_running"] is True
    assert (await machine.status())["supervisor"] == before["supervisor"]


async def test_printed_call_can_be_pasted(machine: Machine) -> None:
    """MSH-10: the line that `up` prints calls a service by reflection with a token."""
    said = (await machine.canopy("up")).out
    line = next(line.strip() for line in said.splitlines() if " curl --protocol grpc" in line)

    called = await execute("bash", "-c", line)

    assert called.code == 0, called.err
    assert json.loads(called.out)["entries"] == [{"personId": NOBODY, "absent": "ABSENCE_UNKNOWN"}]


async def test_every_service_describes_itself(machine: Machine) -> None:
    """MSH-10: reflection lists the methods of each service."""
    addresses = (await machine.status())["addresses"]
    for service in ("persons", "applications", "portal"):
        buf = [str(Path(sys.executable).with_name("buf")), "curl", "--protocol", "grpc", "--http2-prior-knowledge"]
        listed = await execute(*buf, "--list-methods", addresses[service])

        assert listed.code == 0, listed.err
        assert f"canopy.{service}.v1." in listed.out


async def test_stack_whose_supervisor_was_killed_is_down_and_starts_again(machine: Machine) -> None:
    """OPS-01: no part outlives its supervisor, the left-over state is not believed, and the data is still there."""
    before = await machine.status()
    os.kill(before["supervisor"], signal.SIGKILL)

    await machine.until(lambda now: now["status"] == "down")
    started = await machine.canopy("--json", "up")

    assert started.code == 0, started.err
    assert "loses the data" not in started.err
    assert started.json()["addresses"]["public"] == before["addresses"]["public"]


async def test_second_stack_runs_beside_the_first(machine: Machine) -> None:
    """OPS-01: two homes do not meet; a port that is asked for and taken is named; one lost meanwhile is replaced."""
    with new_home() as home, socket.socket() as taken, socket.socket() as rival:
        beside = Machine(home)
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        number = taken.getsockname()[1]
        refused = await beside.canopy("up", "--public-port", str(number))

        rival.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        rival.bind(("127.0.0.1", 0))
        lost = rival.getsockname()[1]
        (home / "ports.json").write_text(json.dumps({"portal": lost}))
        starting = asyncio.create_task(beside.canopy("--json", "up"))
        await beside.until_chosen("portal", lost)
        rival.listen()  # long before the portal does
        started = await starting
        both = (await machine.canopy("status")).code, (await beside.canopy("status")).code
        stopped = await beside.canopy("down")
        after = await beside.canopy("status")

    assert refused.code == 1
    assert refused.err.splitlines()[-1].startswith(f"canopy: --public-port {number}: another program listens")
    assert started.code == 0, started.err
    assert started.json()["addresses"]["portal"] != f"http://127.0.0.1:{lost}"
    assert "loses the data" in started.err
    assert both == (0, 0)
    assert (stopped.code, after.code) == (0, 3)


async def test_stack_whose_home_is_removed_stops_by_itself() -> None:
    """OPS-01: without its home nothing could find the stack, or stop it: it must not live on and hold ports."""
    with new_home() as home:
        started = await Machine(home).canopy("--json", "up")
        state = json.loads((home / "state.json").read_text())
        shutil.rmtree(home)
        processes = [state["supervisor"], *(part["pid"] for part in state["parts"].values())]
        async with asyncio.timeout(60):
            while any(Path(f"/proc/{process}").exists() for process in processes):  # noqa: ASYNC110, ASYNC240
                await asyncio.sleep(0.1)

    assert started.code == 0, started.err


async def test_migrate_on_a_running_stack_finds_nothing_new(machine: Machine) -> None:
    """OPS-02: `up` has applied every migration already."""
    applied = await machine.canopy("--json", "migrate")

    assert applied.json() == {"canopy_persons": [], "canopy_applications": []}


async def test_logs_hold_no_secret(machine: Machine) -> None:
    """OPS-01: no password, key or client secret is ever printed, by any part."""
    secrets = [path.read_text().strip() for path in (machine.home / "secrets").iterdir() if path.is_file()]
    logs = "\n".join(path.read_text(errors="replace") for path in (machine.home / "logs").iterdir())

    assert len(secrets) >= 10
    assert not [secret for secret in secrets if secret in logs]


@pytest.mark.parametrize("command", ["up", "down", "status", "token", "migrate"])
async def test_home_that_cannot_be_is_one_line(command: str) -> None:
    """OPS-02: a mistake is answered by one line on stderr, never by a traceback."""
    outcome = await Machine(Path("/dev/null/home")).canopy(command)

    assert outcome.code == 1
    assert len(outcome.err.splitlines()) == 1
    assert outcome.err.startswith("canopy: cannot ")


async def test_token_without_a_stack_says_what_to_do(tmp_path: Path) -> None:
    """OPS-02: exit code 3 is kept for a stack that does not run."""
    outcome = await Machine(tmp_path).canopy("token")

    assert outcome.code == 3
    assert outcome.err == f"canopy: Canopy does not run in {tmp_path}: canopy up\n"
