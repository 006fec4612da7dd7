"""Clients that go away, services that are down, answers that are lost (FIN-22, FIN-23)."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from contextlib import AsyncExitStack
from dataclasses import replace

import grpc
import pytest

from canopy.applications.v1.drafts_service_pb2_grpc import DraftsServiceStub
from canopy.applications.v1.finalize_service_pb2 import OperationState
from canopy.errors.v1.reason_pb2 import Reason
from services.applications.main import NAME
from services.chassis.outbox_drainer import DrainerConfig
from services.kernel import failpoint
from services.kernel.failpoint import Action, Failpoint
from tests.applications import PORTAL, save_request
from tests.filings import filing
from tests.mesh import refused
from tests.submits import PATIENT, Coordinator, World, paused, reached
from tests.wire import Cut, wired


async def test_client_that_cancels_does_not_cut_the_attempt(world: World) -> None:
    """FIN-23: the applicant closes the page; the submit is finished all the same, and a repeat gets its receipt."""
    for point in (Failpoint.APPLICATIONS_AFTER_CLAIM, Failpoint.APPLICATIONS_FINAL_AFTER_OPERATION):
        draft = await world.draft()
        async with paused(point, world.first.submit(draft)) as attempt:
            attempt.task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await attempt.task
            with failpoint.arm(Failpoint.APPLICATIONS_AFTER_RELEASED_AT, Action.PAUSE) as end:
                attempt.arming.resume()
                await reached(end)

        receipt = await world.second.submit(draft)

        assert receipt.basis_date == (await world.attempts(draft))[0]["basis_date"].isoformat()
        assert len(await world.recorded(draft)) == 4


async def test_attempt_that_is_cut_answers_its_client(world: World) -> None:
    """FIN-23: a stop that waits no longer cuts the attempt, not the answer: the client is told to come again."""
    draft = await world.draft()
    for point in (Failpoint.APPLICATIONS_BEFORE_APPLY, Failpoint.APPLICATIONS_FINAL_AFTER_OPERATION):
        with failpoint.arm(point, Action.CANCEL), refused(Reason.REASON_UPSTREAM_UNAVAILABLE):
            await world.first.submit(draft)
        await world.end_lease(draft)

    assert (await world.second.submit(draft)).application_id == str(draft)


async def test_deadline_of_the_client_does_not_cut_the_attempt(world: World) -> None:
    """FIN-23: the deadline of the call ends the wait, not the work."""
    draft = await world.draft()
    async with paused(Failpoint.APPLICATIONS_BEFORE_APPLY, world.first.submit(draft, within=1)) as attempt:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await attempt.task
        with failpoint.arm(Failpoint.APPLICATIONS_AFTER_RELEASED_AT, Action.PAUSE) as end:
            attempt.arming.resume()
            await reached(end)

    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert (await world.second.submit(draft)).application_id == str(draft)


@pytest.mark.parametrize("cut", list(Cut), ids=lambda cut: cut.value)
async def test_lost_answer_of_the_final_commit_is_settled_by_reading_again(world: World, cut: Cut) -> None:
    """FIN-22: committed or not, an ambiguous COMMIT never undoes anything and files exactly once."""
    draft = await world.draft()
    async with (
        wired(world.fresh.service) as (wire, database),
        world.coordinator(database=database, outbox=DrainerConfig(poll_seconds=60)) as first,
    ):

        async def cut_now() -> None:
            wire.cut = cut

        failpoint.arm(Failpoint.APPLICATIONS_FINAL_AFTER_OPERATION, cut_now)
        receipt = await first.submit(draft, filing(2))

        assert wire.cuts == 1
    assert receipt == await world.second.submit(draft, filing(2))
    assert await world.count("applications") == 1
    assert await world.count("event_outbox") == 1
    assert [row["outcome"] for row in await world.attempts(draft)] == ["completed"]


@pytest.mark.parametrize("cut", list(Cut), ids=lambda cut: cut.value)
async def test_lost_answer_of_the_claim_is_settled_by_reading_again(world: World, cut: Cut) -> None:
    """FIN-22: the claim finds its own holder in the row, or claims again."""
    draft = await world.draft()
    async with (
        wired(world.fresh.service) as (wire, database),
        world.coordinator(database=database, outbox=DrainerConfig(poll_seconds=60)) as first,
    ):
        await first.submit(await world.draft())  # the loops of the start are over
        wire.cut = cut
        receipt = await first.submit(draft, filing(2))

        assert wire.cuts == 1
    assert receipt == await world.second.submit(draft, filing(2))
    assert len(await world.attempts(draft)) == 1


async def test_final_commit_that_cannot_be_settled_is_resumed(world: World) -> None:
    """FIN-22: where even reading again fails, nothing is undone; the answer says to repeat, and the repeat ends it."""
    draft = await world.draft()
    async with (
        wired(replace(world.fresh.service, settle_seconds=0.2)) as (wire, database),
        world.coordinator(database=database, outbox=DrainerConfig(poll_seconds=60)) as first,
    ):

        async def cut_for_good() -> None:
            wire.cut = Cut.ANSWER
            wire.refusing = True

        failpoint.arm(Failpoint.APPLICATIONS_FINAL_AFTER_OPERATION, cut_for_good)
        with refused(Reason.REASON_COMMIT_UNKNOWN):
            await first.submit(draft, filing(2))

    receipt = await world.second.submit(draft, filing(2))

    assert [row["outcome"] for row in await world.attempts(draft)] == ["completed"]
    assert await world.count("applications") == 1
    await world.sweep()
    assert (await world.row(draft))["released_at"] is not None
    assert await world.first.submit(draft, filing(2)) == receipt


async def test_persons_down_gives_the_lease_back(world: World) -> None:
    """FIN-06, DRF-12: the applicant is told to come again; until then the draft is kept as it is, and not changed."""
    draft = await world.draft()
    await world.stop_persons()

    with refused(Reason.REASON_UPSTREAM_UNAVAILABLE):
        await world.first.submit(draft, filing(2))

    assert await world.count("application_drafts") == 1
    told = await world.first.operation(draft)
    assert told.state == OperationState.OPERATION_STATE_IN_PROGRESS
    async with world.mesh.dial(world.first.running, NAME, caller=PORTAL) as channel:
        with refused(Reason.REASON_FINALIZE_IN_PROGRESS):
            await DraftsServiceStub(channel).SaveDraft(save_request(draft))

    await world.start_persons()
    receipt = await world.second.submit(draft, filing(2))  # at once, on what is a later day there

    assert receipt.basis_date == told.attempts[0].basis_date
    assert receipt.received_at == told.attempts[0].received_at


@pytest.mark.parametrize(
    "point",
    [
        Failpoint.PERSONS_AFTER_REGISTER,
        Failpoint.PERSONS_AFTER_RECEIPT,
        Failpoint.PERSONS_AFTER_EVENT,
        Failpoint.PERSONS_AFTER_COMMIT,
    ],
)
async def test_persons_that_fails_in_the_middle_is_asked_again(world: World, point: Failpoint) -> None:
    """FIN-02: what persons did before it failed is acknowledged, what it did not do is done, on the same day."""
    draft = await world.draft()
    with failpoint.arm(point, Action.RAISE), refused(Reason.REASON_INTERNAL):
        await world.first.submit(draft, filing(3))
    assert (await world.row(draft))["status"] == "in_progress"

    receipt = await world.second.submit(draft, filing(3))

    recorded = await world.recorded(draft)
    assert len(recorded) == len({row["step_key"] for row in recorded}) == 8
    assert {row["starts"].isoformat() for row in recorded} == {receipt.basis_date}


async def test_stop_of_a_coordinator_waits_for_its_attempts(world: World) -> None:
    """FIN-23: a deploy in the middle of a submit whose client has gone: the attempt ends before the process does."""
    draft = await world.draft()
    async with AsyncExitStack() as life:
        first = await life.enter_async_context(world.coordinator(finalize=replace(PATIENT, drain_seconds=60)))
        async with paused(Failpoint.APPLICATIONS_BEFORE_FINAL, first.submit(draft)) as attempt:
            attempt.task.cancel()
            stopping = asyncio.create_task(life.aclose())
            async with world.dial(first.running) as onlooker:
                await _until_refusing(onlooker, draft)
            assert not stopping.done()

            attempt.arming.resume()
            await stopping

    assert (await world.row(draft))["status"] == "completed"
    assert (await world.row(draft))["released_at"] is not None


async def _until_refusing(coordinator: Coordinator, draft: uuid.UUID) -> None:
    """Ask until the server takes no calls any more."""
    with contextlib.suppress(grpc.aio.AioRpcError):
        while True:
            await coordinator.operation(draft)
