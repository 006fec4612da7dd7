"""SIGKILL of a real process at every durable boundary: after recovery one filing or a clean abort (FIN-10, FIN-26)."""

from __future__ import annotations

import signal
import uuid
from pathlib import Path

import grpc
import pytest

from canopy.applications.v1.finalize_service_pb2_grpc import FinalizeServiceStub
from canopy.persons.v1.finalize_service_pb2 import GenerationState
from services.applications.main import NAME
from services.kernel.failpoint import Failpoint
from tests.applications import PORTAL
from tests.filings import filing
from tests.submits import HASTY, World, finalize_call

RESUMED = (
    Failpoint.APPLICATIONS_AFTER_CLAIM,
    Failpoint.APPLICATIONS_AFTER_REGISTER_SENT,
    Failpoint.APPLICATIONS_AFTER_APPLY,
    Failpoint.APPLICATIONS_FINAL_AFTER_APPLICATION,
    Failpoint.APPLICATIONS_FINAL_AFTER_DRAFT_DELETE,
    Failpoint.APPLICATIONS_FINAL_AFTER_OPERATION,
    Failpoint.APPLICATIONS_FINAL_AFTER_COMMIT,
    Failpoint.APPLICATIONS_AFTER_RELEASE,
)
UNDONE = (
    Failpoint.APPLICATIONS_ABORT_AFTER_COMPENSATING,
    Failpoint.APPLICATIONS_ABORT_AFTER_CANCEL,
    Failpoint.APPLICATIONS_AFTER_ABORTED,
)


async def killed(world: World, folder: Path, draft: uuid.UUID, point: Failpoint, people: int, person_id: str) -> None:
    """Submit to a process that kills itself at `point`; returns when it is dead and its lease has run out."""
    request = filing(people)
    request.people[-1].person_id = person_id
    async with world.process(folder, f"{point.value}=kill") as (process, coordinator):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await coordinator.submit(draft, request)
        assert await process.wait() == -signal.SIGKILL
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    await world.end_lease(draft)


@pytest.mark.parametrize("point", RESUMED, ids=lambda point: point.value)
async def test_killed_attempt_is_resumed_elsewhere(world: World, tmp_path: Path, point: Failpoint) -> None:
    """FIN-10: the peer files on the day the submit arrived, every write once, and the release is not forgotten."""
    draft = await world.draft()
    await killed(world, tmp_path, draft, point, 3, "")
    (pins,) = await world.attempts(draft)

    receipt = await world.second.submit(draft, filing(3))
    await world.sweep()

    assert receipt.basis_date == pins["basis_date"].isoformat()
    assert receipt.received_at.ToDatetime() == pins["received_at"].replace(tzinfo=None)
    recorded = await world.recorded(draft)
    assert len(recorded) == len({row["step_key"] for row in recorded}) == 8
    assert {row["starts"].isoformat() for row in recorded} == {receipt.basis_date}
    assert await world.count("applications") == 1
    assert await world.count("application_drafts") == 0
    (generation,) = await world.generations(draft)
    assert (generation.state, generation.held_events) == (GenerationState.GENERATION_STATE_SEALED, 0)
    assert (await world.row(draft))["released_at"] is not None


@pytest.mark.parametrize("point", UNDONE, ids=lambda point: point.value)
async def test_killed_undoing_is_finished_elsewhere(world: World, tmp_path: Path, point: Failpoint) -> None:
    """FIN-14: the peer finishes the abort and files the corrected submit as a new attempt."""
    draft = await world.draft()
    await killed(world, tmp_path, draft, point, 3, str(uuid.uuid4()))

    receipt = await world.second.submit(draft, filing(3))

    assert receipt.application_id == str(draft)
    assert [row["outcome"] for row in await world.attempts(draft)] == ["aborted", "completed"]
    assert {row["generation"] for row in await world.recorded(draft)} == {2}
    assert [each.state for each in await world.generations(draft)] == [
        GenerationState.GENERATION_STATE_CANCELLED,
        GenerationState.GENERATION_STATE_SEALED,
    ]


async def test_lease_of_a_killed_process_runs_out_by_itself(world: World, tmp_path: Path) -> None:
    """FIN-05: nobody has to help: the same process, started again, goes on once the lease is over."""
    draft = await world.draft()
    point = Failpoint.APPLICATIONS_AFTER_APPLY
    async with world.process(tmp_path, f"{point.value}=kill", finalize=HASTY) as (process, coordinator):
        with pytest.raises(grpc.aio.AioRpcError):
            await coordinator.submit(draft, filing(3))
        await process.wait()

    async with (
        world.process(tmp_path, finalize=HASTY) as (_, again),
        world.mesh.dial(again.running, NAME, caller=PORTAL) as channel,
    ):
        # The portal's own stack comes again when the answer says so.
        answer = await FinalizeServiceStub(channel).FinalizeApplication(finalize_call(draft, filing(3)))

    assert answer.receipt.application_id == str(draft)
    assert len(await world.recorded(draft)) == 8
