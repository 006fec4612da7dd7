"""A submit from beginning to end, what it costs, and what a repeat of it gets."""

from __future__ import annotations

import asyncio
import unicodedata
import uuid

import grpc
import pytest

from canopy.applications.v1.application_pb2 import FilingKind
from canopy.applications.v1.finalize_service_pb2 import OperationState, WithdrawAttemptRequest
from canopy.errors.v1.reason_pb2 import Reason
from services.kernel.failpoint import Failpoint
from services.kernel.tally import tally
from tests.filings import MEDICAID, SNAP, filing
from tests.mesh import details_of, reason_of, refused
from tests.submits import World, paused


async def test_submit_becomes_an_application_and_its_people(world: World) -> None:
    """FIN-08: the draft is gone, the application stands, its people are on record, all under one receipt."""
    draft = await world.draft()

    receipt = await world.first.submit(draft, filing(3, incomes=2))

    assert receipt.application_id == str(draft)
    assert list(receipt.programs_requested) == [SNAP, MEDICAID]
    assert receipt.basis_date == receipt.filing_date
    row = await world.row(draft)
    assert row["status"] == "completed"
    assert str(row["household_id"]) == receipt.household_id
    assert row["released_at"] is not None
    assert await world.count("application_drafts") == 0
    assert await world.count("passcode_hashes") == 1
    assert await world.count("application_determinations") == 4
    assert [await world.count_persons(table) for table in ("persons", "members", "incomes")] == [3, 3, 2]
    household = await world.persons.household(receipt.household_id, as_of=receipt.basis_date)
    assert household.HasField("state")
    (attempt,) = await world.attempts(draft)
    assert attempt["manifest"] == [
        "person/0",
        "person/1",
        "person/2",
        "household",
        "member/0",
        "member/1",
        "member/2",
        "income/0",
        "income/1",
    ]


@pytest.mark.parametrize("people", [1, 4, 10])
async def test_submit_takes_six_commits_and_few_calls(world: World, people: int) -> None:
    """FIN-18: claim, register, apply, final, release and its note, whatever the size of the household."""
    await world.first.submit(await world.draft(), filing(1))  # tokens are fetched, statements are prepared
    draft = await world.draft()

    with tally() as cost:
        await world.first.submit(draft, filing(people, incomes=people))

    assert cost.commits <= 6
    assert cost.rpcs <= 5
    assert (cost.commits, cost.rpcs) == (6, 3)


async def test_repeat_gets_the_receipt_for_one_read(world: World) -> None:
    """FIN-06: a completed submit is answered in one round trip, with nothing written, though its draft is gone."""
    draft = await world.draft()
    receipt = await world.first.submit(draft, filing(4))

    with tally() as cost:
        again = await world.first.submit(draft, filing(4))

    assert again == receipt
    assert (cost.round_trips, cost.commits, cost.rpcs) == (1, 0, 0)
    assert await world.second.submit(draft, filing(4)) == receipt


async def test_edited_or_reordered_repeat_is_refused(world: World) -> None:
    """FIN-09: only what was submitted gets the receipt."""
    draft = await world.draft()
    request = filing(3)
    receipt = await world.first.submit(draft, request)
    edited, reordered = filing(3), filing(3)
    edited.people[1].details.name.given = "Another"
    reordered.people[1].CopyFrom(request.people[2])
    reordered.people[2].CopyFrom(request.people[1])

    for other in (edited, reordered):
        with refused(Reason.REASON_SUBMIT_DIFFERS):
            await world.first.submit(draft, other)

    assert await world.first.submit(draft, request) == receipt


async def test_storm_of_submits_files_once(world: World) -> None:
    """FIN-06: of many submits at once one files, the others get its receipt or are told to come again."""
    draft = await world.draft()
    coordinators = (world.first, world.second)

    answers = await asyncio.gather(
        *(coordinators[nth % 2].submit(draft, filing(2)) for nth in range(32)), return_exceptions=True
    )

    receipts = [answer for answer in answers if not isinstance(answer, BaseException)]
    refusals = {reason_of(answer) for answer in answers if isinstance(answer, BaseException)}
    assert receipts
    assert refusals <= {"REASON_OPERATION_BUSY"}
    assert all(receipt == receipts[0] for receipt in receipts)
    assert await world.count("applications") == 1
    assert [await world.count_persons(table) for table in ("persons", "households", "members")] == [2, 1, 2]
    assert await world.second.submit(draft, filing(2)) == receipts[0]


async def test_busy_answer_says_when_to_come_again(world: World) -> None:
    """FIN-06: a live attempt is no failure: UNAVAILABLE with RetryInfo."""
    draft = await world.draft()
    async with paused(Failpoint.APPLICATIONS_AFTER_CLAIM, world.first.submit(draft)):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await world.second.submit(draft)

    assert reason_of(caught.value) == "REASON_OPERATION_BUSY"
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert any(detail.type_url.endswith("google.rpc.RetryInfo") for detail in details_of(caught.value))


async def test_submit_of_no_draft_is_not_found(world: World) -> None:
    """FIN-06: no draft, an expired one, and nothing completed: the same answer, and nothing is begun."""
    expired = await world.draft()
    async with world.fresh.as_owner() as connection:
        await connection.execute("UPDATE application_drafts SET expires_at = clock_timestamp()")

    for application_id in (expired, uuid.uuid4()):
        with refused(Reason.REASON_DRAFT_NOT_FOUND):
            await world.first.submit(application_id)
    assert await world.count("finalize_operations") == 0


async def test_submit_from_an_older_revision_is_stale(world: World) -> None:
    """FIN-06: what was saved after the page was made is not filed unseen; the answer names the current revision."""
    draft = await world.draft()

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await world.first.submit(draft, expected_revision=3)

    assert reason_of(caught.value) == "REASON_REVISION_STALE"
    assert await world.count("finalize_operations") == 0


async def test_filing_out_of_order_begins_nothing(world: World) -> None:
    """DRF-12: validation comes before the claim, so the draft can be corrected, saved and submitted."""
    draft = await world.draft()
    wrong = filing(2)
    wrong.submitted_by = 7

    with refused(Reason.REASON_INVALID_FIELD):
        await world.first.submit(draft, wrong)

    assert await world.count("finalize_operations") == 0
    assert (await world.first.submit(draft, filing(2))).application_id == str(draft)


async def test_other_kinds_are_checked_then_refused_as_not_implemented(world: World) -> None:
    """FIN-27: a supplement is in the contract; a wrong one is told so, a right one that it cannot be taken yet."""
    draft = await world.draft()
    supplement = filing(2)
    supplement.kind = FilingKind.FILING_KIND_SUPPLEMENT

    with refused(Reason.REASON_INVALID_FIELD):
        await world.first.submit(draft, supplement)
    supplement.filed_application_id = str(uuid.uuid4())
    with refused(Reason.REASON_NOT_IMPLEMENTED):
        await world.first.submit(draft, supplement)

    assert await world.count("finalize_operations") == 0


async def test_decomposed_resend_is_the_same_submit(world: World) -> None:
    """FIN-09: what is stored and hashed is the composed form, so a resend from another keyboard is no edit."""
    draft = await world.draft()
    composed, decomposed = filing(2), filing(2)
    decomposed.people[1].details.name.given = unicodedata.normalize("NFD", composed.people[1].details.name.given)
    assert composed != decomposed

    receipt = await world.first.submit(draft, decomposed)

    assert await world.second.submit(draft, composed) == receipt


async def test_operation_tells_its_attempts(world: World) -> None:
    """FIN-05: where a submit stands, for workers and for the portal."""
    draft = await world.draft()
    with refused(Reason.REASON_APPLICATION_NOT_FOUND):
        await world.first.operation(draft)

    receipt = await world.first.submit(draft)

    told = await world.second.operation(draft)
    assert told.state == OperationState.OPERATION_STATE_COMPLETED
    (attempt,) = told.attempts
    assert (attempt.generation, attempt.basis_date, attempt.state) == (1, receipt.basis_date, told.state)
    assert (attempt.received_at, attempt.released, attempt.release_blocked) == (receipt.received_at, True, False)
    assert attempt.HasField("ended_at")


async def test_withdrawing_an_attempt_is_not_served_yet(world: World) -> None:
    """DRF-12: the verb is in the contract; undoing an attempt with receipts needs compensation."""
    request = WithdrawAttemptRequest(application_id=str(uuid.uuid4()))

    with refused(Reason.REASON_NOT_IMPLEMENTED):
        await world.first.stub.WithdrawAttempt(request, metadata=world.first.metadata)
