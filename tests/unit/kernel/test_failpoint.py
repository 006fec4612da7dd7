"""Failpoints: harmless unless armed, and each action does what its name says to the task that comes by."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from services.kernel import failpoint
from services.kernel.failpoint import Action, Failpoint, FailpointError

POINT = Failpoint.PERSONS_AFTER_RECEIPT
OTHER = Failpoint.PERSONS_AFTER_ENTITY


async def test_an_unarmed_point_does_nothing() -> None:
    """FIN-26: production code passes its points unharmed."""
    await failpoint.reach(POINT)


async def test_raise_fires_once_and_only_at_its_point() -> None:
    """FIN-26: an armed point breaks one pass, so the recovery that follows meets it unarmed."""
    failpoint.arm(POINT, Action.RAISE)

    await failpoint.reach(OTHER)
    with pytest.raises(FailpointError, match=r"persons\.after_receipt"):
        await failpoint.reach(POINT)
    await failpoint.reach(POINT)


async def test_a_point_armed_without_a_count_fires_until_disarmed() -> None:
    """FIN-26: a failure that does not go away is one of the cases."""
    with failpoint.arm(POINT, Action.RAISE, times=None):
        for _ in range(2):
            with pytest.raises(FailpointError):
                await failpoint.reach(POINT)

    await failpoint.reach(POINT)


async def test_pause_holds_the_task_until_it_is_resumed() -> None:
    """FIN-26: a test can look at the world while a task stands between two effects."""
    pause = failpoint.arm(POINT, Action.PAUSE)
    task = asyncio.create_task(failpoint.reach(POINT))
    await pause.reached()
    await asyncio.sleep(0)
    assert not task.done()

    pause.resume()

    await task


async def test_disarming_lets_a_paused_task_go_on() -> None:
    """FIN-26: a test that fails half-way leaves no task standing."""
    with failpoint.arm(POINT, Action.PAUSE) as pause:
        task = asyncio.create_task(failpoint.reach(POINT))
        await pause.reached()

    await task


@pytest.mark.parametrize("action", [Action.CANCEL, Action.HANG])
async def test_cancel_and_hang_end_as_a_cancelled_task(action: Action) -> None:
    """FIN-26: cancel ends the task by itself, hang when somebody gives up on it."""
    arming = failpoint.arm(POINT, action)
    task = asyncio.create_task(failpoint.reach(POINT))
    await arming.reached()
    if action is Action.HANG:
        task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()


async def test_an_action_may_be_any_function() -> None:
    """FIN-26: what a test can do to the world, it can do at a point."""
    seen: list[str] = []

    async def act() -> None:
        seen.append("acted")

    failpoint.arm(POINT, act)
    await failpoint.reach(POINT)

    assert seen == ["acted"]


def test_kill_armed_from_the_environment_ends_the_process_and_warns_first() -> None:
    """FIN-26: a process can be told at its start where to die, and says so loudly."""
    program = (
        "import asyncio, os\n"
        "from services.kernel import failpoint\n"
        "failpoint.from_environment(os.environ)\n"
        "asyncio.run(failpoint.reach(failpoint.Failpoint.OUTBOX_AFTER_PUBLISH))\n"
    )

    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[3],
        env={**os.environ, failpoint.VARIABLE: "outbox.after_mark=raise; outbox.after_publish=kill"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == -signal.SIGKILL
    assert "FAILPOINTS ARMED" in ended.stderr
    assert "outbox.after_mark, outbox.after_publish" in ended.stderr


def test_nothing_is_armed_by_an_empty_environment() -> None:
    """FIN-26: without the variable nothing is armed."""
    assert failpoint.from_environment({}) == ()


@pytest.mark.parametrize(
    "value",
    [
        "persons.no_such_point=raise",
        "persons.after_receipt=explode",
        "persons.after_receipt",
        "persons.after_receipt=pause",
    ],
)
def test_a_mistake_in_the_environment_stops_the_start(value: str) -> None:
    """FIN-26: a point that is misspelt would make a fault test pass without a fault."""
    with pytest.raises(ValueError, match=r"pause|not a valid"):
        failpoint.from_environment({failpoint.VARIABLE: value})
