"""Work that goes on without its caller."""

from __future__ import annotations

import asyncio

import pytest

from canopy.errors.v1.reason_pb2 import Reason
from services.chassis.shielded import CutError, Shielded
from services.kernel.errors import Refusal


async def never() -> None:
    await asyncio.Event().wait()


async def test_work_goes_on_when_its_caller_has_gone_and_its_end_is_waited_for() -> None:
    """FIN-23: a caller that is cancelled takes nothing along; a stop waits for the work."""
    shielded = Shielded(drain_seconds=60)
    begun, go_on, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        await go_on.wait()
        ended.set()

    caller = asyncio.create_task(shielded.run(work))
    await begun.wait()
    caller.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await caller
    assert not isinstance(caught.value, CutError)

    go_on.set()
    await shielded.drain()

    assert ended.is_set()


async def test_a_stop_cuts_what_takes_too_long_and_takes_nothing_new(caplog: pytest.LogCaptureFixture) -> None:
    """FIN-23: a caller can tell work that was cut from a cancellation of its own; the log names the work."""
    shielded = Shielded(drain_seconds=0)
    caller = asyncio.create_task(shielded.run(never, transaction="hang"))
    await asyncio.sleep(0)

    await shielded.drain()

    with pytest.raises(CutError):
        await caller
    (record,) = [each for each in caplog.records if each.message == "work cut off while stopping"]
    assert vars(record)["transaction"] == "hang"
    with pytest.raises(Refusal) as refused:
        await shielded.run(lambda: asyncio.sleep(0))
    assert refused.value.reason == Reason.REASON_UPSTREAM_UNAVAILABLE
