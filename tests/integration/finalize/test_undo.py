"""An attempt that cannot be filed ends cleanly, and the draft can be submitted again (ADR-038, DRF-12)."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2

from canopy.applications.v1.application_pb2 import SubmissionChannel
from canopy.applications.v1.drafts_service_pb2_grpc import DraftsServiceStub
from canopy.applications.v1.finalize_pb2 import FinalizeRequest
from canopy.applications.v1.finalize_service_pb2 import OperationState
from canopy.errors.v1.reason_pb2 import Reason
from canopy.persons.v1.finalize_service_pb2 import CancelOperationRequest, GenerationState
from services.applications.main import NAME
from services.kernel.failpoint import Action, Failpoint
from tests.applications import PORTAL, save_request
from tests.filings import filing
from tests.mesh import details_of, reason_of, refused
from tests.submits import World, paused

UNDOING = (
    Failpoint.APPLICATIONS_ABORT_AFTER_COMPENSATING,
    Failpoint.APPLICATIONS_ABORT_AFTER_CANCEL,
    Failpoint.APPLICATIONS_AFTER_ABORTED,
)


def unknown_person() -> FinalizeRequest:
    """Build a filing in order that names somebody who is not on record: only persons can know."""
    request = filing(2)
    request.people[1].person_id = str(uuid.uuid4())
    return request


def unknown_household() -> FinalizeRequest:
    """Build the same of a household."""
    request = filing(2)
    request.household.household_id = str(uuid.uuid4())
    return request


@pytest.mark.parametrize("wrong", [unknown_person, unknown_household])
@pytest.mark.parametrize(
    "channel", [SubmissionChannel.SUBMISSION_CHANNEL_PORTAL, SubmissionChannel.SUBMISSION_CHANNEL_KIOSK]
)
async def test_an_applicant_names_nobody_on_record(
    world: World, wrong: Callable[[], FinalizeRequest], channel: SubmissionChannel
) -> None:
    """FIN-27: a session proves nothing about records: who saw an id neither changes what it names nor learns of it."""
    draft = await world.draft()

    with refused(Reason.REASON_INVALID_FIELD):
        await world.first.submit(draft, wrong(), channel=channel)

    await world.first.submit(draft, filing(2), channel=channel)


async def save(world: World, draft: uuid.UUID, revision: int) -> None:
    async with world.mesh.dial(world.first.running, NAME, caller=PORTAL) as channel:
        await DraftsServiceStub(channel).SaveDraft(save_request(draft, revision))


@pytest.mark.parametrize(("wrong", "entity"), [(unknown_person, "person"), (unknown_household, "household")])
async def test_refused_filing_is_undone_and_can_be_corrected(
    world: World, wrong: Callable[[], FinalizeRequest], entity: str
) -> None:
    """DRF-12: nothing of the draft is lost; the corrected filing is a new attempt on the day that it arrives."""
    draft = await world.draft()

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await world.first.submit(draft, wrong())

    assert reason_of(caught.value) == "REASON_ENTITY_NOT_FOUND"
    assert _metadata(caught.value)["entity"] == entity
    (first,) = await world.attempts(draft)
    assert (await world.row(draft))["status"] == "aborted"
    assert (first["outcome"], first["abort_reason"]) == ("aborted", "REASON_ENTITY_NOT_FOUND")
    assert [
        await world.count(table) for table in ("application_drafts", "application_id_codes", "passcode_hashes")
    ] == [
        1,
        1,
        1,
    ]
    assert [(each.generation, each.state, each.receipts) for each in await world.generations(draft)] == [
        (1, GenerationState.GENERATION_STATE_CANCELLED, 0)
    ]

    await save(world, draft, 0)
    receipt = await world.second.submit(draft, filing(2), expected_revision=1)

    told = await world.second.operation(draft)
    assert told.state == OperationState.OPERATION_STATE_COMPLETED
    assert [(each.generation, each.state) for each in told.attempts] == [
        (1, OperationState.OPERATION_STATE_ABORTED),
        (2, OperationState.OPERATION_STATE_COMPLETED),
    ]
    # FIN-10: fresh pins for the new filing, and the instant of the first stays visible.
    assert told.attempts[0].received_at.ToDatetime() == first["received_at"].replace(tzinfo=None)
    assert told.attempts[1].received_at == receipt.received_at
    assert receipt.basis_date > first["basis_date"].isoformat()
    recorded = await world.recorded(draft)
    assert {row["generation"] for row in recorded} == {2}
    assert {row["starts"].isoformat() for row in recorded} == {receipt.basis_date}


@pytest.mark.parametrize("how", [Action.RAISE, Action.CANCEL, Action.HANG])
async def test_undoing_that_stopped_is_finished_by_the_next_submit(world: World, how: Action) -> None:
    """FIN-14: wherever the undoing stopped, the corrected submit finishes it and files as the next attempt."""
    for point in UNDOING:
        draft = await world.draft()
        await _stop_undoing_at(world, draft, point, how)

        receipt = await world.second.submit(draft, filing(2))

        assert receipt.application_id == str(draft), point
        assert [row["outcome"] for row in await world.attempts(draft)] == ["aborted", "completed"], point
        assert {row["generation"] for row in await world.recorded(draft)} == {2}, point


async def test_undoing_that_stopped_is_finished_by_a_sweep(world: World) -> None:
    """FIN-14: nobody need submit again for the draft to become free."""
    for point in UNDOING:
        draft = await world.draft()
        await _stop_undoing_at(world, draft, point, Action.RAISE)

        await world.sweep()

        assert (await world.row(draft))["status"] == "aborted", point
        await save(world, draft, 0)


async def test_sweep_leaves_an_undoing_that_somebody_holds(world: World) -> None:
    """FIN-06: a live lease is respected by the sweeper too."""
    draft = await world.draft()
    work = world.first.submit(draft, unknown_person())
    async with paused(Failpoint.APPLICATIONS_ABORT_AFTER_COMPENSATING, work) as undoing:
        holder = (await world.row(draft))["holder"]

        await world.sweep()
        with refused(Reason.REASON_OPERATION_BUSY):
            await world.second.submit(draft, filing(2))

        assert (await world.row(draft))["holder"] == holder
        with refused(Reason.REASON_ENTITY_NOT_FOUND):
            await undoing.resume()


async def test_draft_cannot_be_saved_while_a_submit_is_under_way_or_undone(world: World) -> None:
    """DRF-12: what is being filed does not change under it; the refusal has a reason of its own."""
    draft = await world.draft()
    for point in (Failpoint.APPLICATIONS_AFTER_CLAIM, Failpoint.APPLICATIONS_ABORT_AFTER_COMPENSATING):
        async with paused(point, world.first.submit(draft, unknown_person())) as attempt:
            with refused(Reason.REASON_FINALIZE_IN_PROGRESS):
                await save(world, draft, 0)
            with refused(Reason.REASON_ENTITY_NOT_FOUND):
                await attempt.resume()

    await save(world, draft, 0)


async def test_generation_cancelled_by_another_is_undone_and_submitted_again(world: World) -> None:
    """FIN-21: a tombstone in persons never blocks an applicant: the next attempt has the next generation."""
    draft = await world.draft()
    async with paused(Failpoint.APPLICATIONS_AFTER_CLAIM, world.first.submit(draft)) as attempt:
        await world.persons.finalize.CancelOperation(CancelOperationRequest(operation_id=str(draft), generation=1))
        with refused(Reason.REASON_LEASE_LOST):
            await attempt.resume()

    receipt = await world.first.submit(draft)

    assert receipt.application_id == str(draft)
    assert [row["outcome"] for row in await world.attempts(draft)] == ["aborted", "completed"]


async def test_draft_deleted_under_an_attempt_files_nothing(world: World) -> None:
    """FIN-08: a final commit deletes exactly one draft or fails closed; the graph is never released."""
    draft = await world.draft()
    async with paused(Failpoint.APPLICATIONS_BEFORE_FINAL, world.first.submit(draft)) as attempt:
        async with world.fresh.as_owner() as connection:
            await connection.execute("DELETE FROM application_drafts WHERE application_id = $1", draft)
        with refused(Reason.REASON_DRAFT_NOT_FOUND):
            await attempt.resume()

    assert await world.count("applications") == 0
    assert await world.count("event_outbox") == 0
    # Undoing what is written needs compensation; until then the intent stands, and the events stay held.
    assert (await world.row(draft))["status"] == "compensating"
    (generation,) = await world.generations(draft)
    assert (generation.receipts, generation.held_events) == (4, 4)
    with refused(Reason.REASON_DRAFT_NOT_FOUND):
        await world.second.submit(draft)


async def test_attempt_that_was_taken_over_undoes_nothing(world: World) -> None:
    """FIN-05: only the holder may begin an undoing, though the paused attempt was refused in good faith."""
    draft = await world.draft()
    wrong = unknown_person()
    async with paused(Failpoint.APPLICATIONS_BEFORE_APPLY, world.first.submit(draft, wrong)) as zombie:
        await world.end_lease(draft)
        async with paused(Failpoint.APPLICATIONS_AFTER_CLAIM, world.second.submit(draft, wrong)) as heir:
            with refused(Reason.REASON_LEASE_LOST):
                await zombie.resume()
            assert (await world.row(draft))["status"] == "in_progress"

            with refused(Reason.REASON_ENTITY_NOT_FOUND):
                await heir.resume()

    assert len(await world.attempts(draft)) == 1


async def test_persons_unreachable_while_undoing_leaves_the_intent(world: World) -> None:
    """FIN-14: the intent is durable; when persons is back, the next submit finishes it."""
    draft = await world.draft()
    work = world.first.submit(draft, unknown_person())
    async with paused(Failpoint.APPLICATIONS_ABORT_AFTER_COMPENSATING, work) as undoing:
        await world.stop_persons()
        with refused(Reason.REASON_ENTITY_NOT_FOUND):
            await undoing.resume()
    assert (await world.row(draft))["status"] == "compensating"
    await world.start_persons()

    receipt = await world.second.submit(draft, filing(2))

    assert receipt.application_id == str(draft)


async def _stop_undoing_at(world: World, draft: uuid.UUID, point: Failpoint, how: Action) -> None:
    await world.stop_at(point, how, world.first.submit(draft, unknown_person()))
    await world.end_lease(draft)


def _metadata(error: grpc.aio.AioRpcError) -> dict[str, Any]:
    info = error_details_pb2.ErrorInfo()
    assert any(detail.Unpack(info) for detail in details_of(error))
    return dict(info.metadata)
