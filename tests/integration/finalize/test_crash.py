"""An attempt that stops anywhere is taken up on a later day and ends as if it had never stopped (FIN-10, FIN-26)."""

from __future__ import annotations

import uuid
from typing import Final

import grpc
import pytest

from canopy.applications.v1.finalize_service_pb2 import FilingReceipt
from canopy.persons.v1.finalize_service_pb2 import GenerationState
from services.kernel.failpoint import Action, Failpoint
from tests.filings import filing
from tests.submits import World

# Between claim and final commit: nothing is filed yet, the attempt is resumed.
BETWEEN_TRANSACTIONS: Final = (
    Failpoint.APPLICATIONS_AFTER_CLAIM,
    Failpoint.APPLICATIONS_AFTER_REGISTER_SENT,
    Failpoint.APPLICATIONS_BEFORE_APPLY,
    Failpoint.APPLICATIONS_AFTER_APPLY,
    Failpoint.APPLICATIONS_BEFORE_FINAL,
)
INSIDE_THE_FINAL_ONE: Final = (
    Failpoint.APPLICATIONS_FINAL_AFTER_APPLICATION,
    Failpoint.APPLICATIONS_FINAL_AFTER_DRAFT_DELETE,
    Failpoint.APPLICATIONS_FINAL_AFTER_OPERATION,
)
# After it: the receipt stands, only the release may be left.
AFTER_FILING: Final = (
    Failpoint.APPLICATIONS_FINAL_AFTER_COMMIT,
    Failpoint.APPLICATIONS_AFTER_RELEASE,
    Failpoint.APPLICATIONS_AFTER_RELEASED_AT,
)
ELSEWHERE: Final = (  # test_lease.py, test_undo.py
    Failpoint.APPLICATIONS_HEARTBEAT_BEFORE,
    Failpoint.APPLICATIONS_HEARTBEAT_AFTER,
    Failpoint.APPLICATIONS_ABORT_AFTER_COMPENSATING,
    Failpoint.APPLICATIONS_ABORT_AFTER_CANCEL,
    Failpoint.APPLICATIONS_AFTER_ABORTED,
)


def test_every_point_of_the_coordinator_is_tried() -> None:
    """FIN-26: a new point without a test fails here."""
    tried = {*BETWEEN_TRANSACTIONS, *INSIDE_THE_FINAL_ONE, *AFTER_FILING, *ELSEWHERE}

    assert tried == {point for point in Failpoint if point.value.startswith("applications.")}


async def stop_at(world: World, draft: uuid.UUID, point: Failpoint, how: Action) -> None:
    """Let the first coordinator come to `point` and stop there for good; its lease has run out when this returns."""
    await world.stop_at(point, how, world.first.submit(draft, filing(3)))
    await world.end_lease(draft)


async def assert_filed_once(world: World, draft: uuid.UUID, receipt: FilingReceipt) -> None:
    """Check that one graph stands for the draft, from the pinned day on, and that nothing else does."""
    pins = (await world.attempts(draft))[-1]
    assert receipt.basis_date == pins["basis_date"].isoformat()
    assert receipt.received_at.ToDatetime() == pins["received_at"].replace(tzinfo=None)
    generations = await world.generations(draft)
    assert [(each.generation, each.state, each.receipts, each.held_events) for each in generations] == [
        (1, GenerationState.GENERATION_STATE_SEALED, 8, 0)
    ]
    recorded = await world.recorded(draft)
    assert sorted(row["step_key"] for row in recorded) == sorted(pins["manifest"])
    assert {row["starts"].isoformat() for row in recorded} == {receipt.basis_date}
    assert await world.first.submit(draft, filing(3)) == receipt


@pytest.mark.parametrize(
    ("points", "how"),
    [
        (BETWEEN_TRANSACTIONS + INSIDE_THE_FINAL_ONE, Action.RAISE),
        (BETWEEN_TRANSACTIONS + INSIDE_THE_FINAL_ONE, Action.CANCEL),
        (BETWEEN_TRANSACTIONS, Action.HANG),  # inside, PostgreSQL itself ends an idle transaction
    ],
    ids=["raise", "cancel", "hang"],
)
async def test_attempt_that_stopped_is_resumed_on_the_day_it_began(
    world: World, points: tuple[Failpoint, ...], how: Action
) -> None:
    """FIN-10: a resume elsewhere, on a later civil day, keeps received_at and basis_date, and repeats no write."""
    for point in points:
        draft = await world.draft()
        await stop_at(world, draft, point, how)
        before = (await world.attempts(draft))[0]

        receipt = await world.second.submit(draft, filing(3))

        assert (await world.attempts(draft))[0]["received_at"] == before["received_at"], point
        assert receipt.basis_date == before["basis_date"].isoformat(), point
        assert (await world.row(draft))["released_at"] is not None, point
        await assert_filed_once(world, draft, receipt)


@pytest.mark.parametrize("how", [Action.RAISE, Action.CANCEL, Action.HANG])
async def test_what_is_filed_stays_filed(world: World, how: Action) -> None:
    """FIN-08: whatever happens after the final commit, the next repeat gets the receipt, and a sweep releases."""
    for point in AFTER_FILING:
        draft = await world.draft()
        await stop_at(world, draft, point, how)

        receipt = await world.second.submit(draft, filing(3))
        await world.sweep()

        assert (await world.row(draft))["released_at"] is not None, point
        await assert_filed_once(world, draft, receipt)


async def test_edited_resend_of_a_stopped_attempt_is_refused(world: World) -> None:
    """FIN-09: the digest is compared on every resume: steps of two requests are never mixed."""
    draft = await world.draft()
    await stop_at(world, draft, Failpoint.APPLICATIONS_AFTER_APPLY, Action.RAISE)
    edited = filing(3)
    edited.people[2].details.name.given = "Another"

    with pytest.raises(grpc.aio.AioRpcError, match="submit differs"):
        await world.second.submit(draft, edited)

    await assert_filed_once(world, draft, await world.second.submit(draft, filing(3)))
