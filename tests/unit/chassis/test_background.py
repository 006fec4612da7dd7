"""Background workers: they outlive failures, run when told and stop within a bound."""

from __future__ import annotations

import asyncio

import pytest

from services.chassis.background import Worker

HOUR = 3600.0
PATIENCE = 10.0  # a signal that never comes fails the test instead of hanging it


class Passes:
    """A pass under the test's control: counts its calls and raises what it is told to."""

    def __init__(self, *outcomes: BaseException | None) -> None:
        self.outcomes = list(outcomes)
        self.count = 0
        self._called = asyncio.Condition()

    async def __call__(self) -> None:
        outcome = self.outcomes.pop(0) if self.outcomes else None
        async with self._called:
            self.count += 1
            self._called.notify_all()
        if outcome is not None:
            raise outcome

    async def until(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE), self._called:
            await self._called.wait_for(lambda: self.count >= count)


async def test_worker_goes_on_after_failures_and_reports_them(caplog: pytest.LogCaptureFixture) -> None:
    """FIN-26: a sweeper that failed sweeps again; its failures are logged by label, never with their message."""
    passes = Passes(ValueError("Ada Lovelace"), RuntimeError("1815-12-10"))

    async with Worker("sweeper", HOUR, passes) as worker:
        await passes.until(2)
        assert worker.failures in (1, 2)
        await passes.until(3)
        worker.nudge()
        await passes.until(4)

        assert worker.failures == 0
        assert worker.running

    failed = [record for record in caplog.records if record.message == "worker pass failed"]
    assert [vars(record)["error"] for record in failed] == ["ValueError", "RuntimeError"]
    assert "Ada" not in caplog.text
    assert "1815" not in caplog.text


async def test_worker_survives_a_cancellation_from_inside_a_pass() -> None:
    """FIN-26: a CancelledError that escapes a pass is a failure like any other; it does not end the loop."""
    passes = Passes(asyncio.CancelledError())

    async with Worker("sweeper", HOUR, passes) as worker:
        await passes.until(2)

        assert worker.running


async def test_nudge_during_a_pass_leads_to_one_more_pass() -> None:
    """MSH-12: an event staged while the drainer is reading is looked for at once, not after the interval."""
    counted = Passes()
    entered, leave = asyncio.Event(), asyncio.Event()

    async def run() -> None:
        await counted()
        entered.set()
        await leave.wait()

    async with Worker("drainer", HOUR, run) as worker:
        await entered.wait()
        worker.nudge()
        leave.set()

        await counted.until(2)


async def test_stop_lets_the_running_pass_finish_and_begins_no_other() -> None:
    """OPS-05: a draining service finishes what it has begun."""
    entered, leave = asyncio.Event(), asyncio.Event()
    finished = 0

    async def run() -> None:
        nonlocal finished
        entered.set()
        await leave.wait()
        finished += 1

    worker = Worker("drainer", 0.0, run)
    worker.start()
    await entered.wait()
    stopping = asyncio.create_task(worker.stop())
    await asyncio.sleep(0)
    assert not stopping.done()
    leave.set()
    await stopping

    assert finished == 1
    assert not worker.running


async def test_stop_cuts_off_a_pass_that_outlasts_the_bound() -> None:
    """OPS-05: a pass that hangs does not keep the process from ending."""
    entered, cut_off = asyncio.Event(), asyncio.Event()

    async def run() -> None:
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            cut_off.set()

    worker = Worker("stuck", HOUR, run, drain_seconds=0.01)
    worker.start()
    await entered.wait()
    async with asyncio.timeout(PATIENCE):
        await worker.stop()

    assert cut_off.is_set()
    assert not worker.running


async def test_worker_starts_once() -> None:
    """FIN-26: a second start is a mistake of the caller, not a second loop."""
    passes = Passes()

    async with Worker("sweeper", HOUR, passes) as worker:
        await passes.until(1)
        with pytest.raises(RuntimeError):
            worker.start()
