"""What a call carries along: its caller and its deadline; and the small values of the kernel."""

from __future__ import annotations

import asyncio
from datetime import UTC

from services.kernel import caller, deadline
from services.kernel.caller import ANONYMOUS, Caller
from services.kernel.clock import SystemClock
from services.kernel.deadline import Deadline
from services.kernel.ids import new_id


def test_service_id_falls_back_to_azp_and_proves_nothing() -> None:
    """MSH-04: being a service is said by the role alone."""
    assert Caller(subject="s", service="canopy-portal", azp="x").service_id() == "canopy-portal"
    assert Caller(subject="s", azp="canopy-portal").service_id() == "canopy-portal"
    assert not Caller(subject="s", service="canopy-portal", azp="canopy-portal").is_service
    assert Caller(subject="s", roles=frozenset({"service"})).is_service


async def test_caller_and_deadline_belong_to_their_block_and_its_tasks() -> None:
    """MSH-07: tasks begun in a call inherit both; afterwards there is neither."""

    async def seen() -> tuple[Caller, Deadline | None]:
        return caller.current(), deadline.current()

    me, end = Caller(subject="me"), Deadline.after(60)
    with caller.use(me), deadline.use(end):
        within = await asyncio.create_task(seen())

    assert within == (me, end)
    assert await seen() == (ANONYMOUS, None)


def test_deadline_runs_down_to_zero_and_not_below() -> None:
    """MSH-07: what is left is never negative; deadlines compare."""
    assert Deadline.after(-1).remaining() == 0
    assert 0 < Deadline.after(60).remaining() <= 60
    assert Deadline.after(1) < Deadline.after(60)


def test_clock_knows_its_zone_and_ids_are_fresh() -> None:
    """MSH-15: instants carry their zone; ids are random UUID texts."""
    assert SystemClock().now().tzinfo is UTC
    assert new_id() != new_id()
    assert len(new_id()) == 36
