"""Saving and reading a draft, over the wire."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from datetime import UTC, timedelta
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2

from canopy.applications.v1 import drafts_service_pb2 as pb
from canopy.applications.v1.draft_pb2 import WrappedKey
from canopy.errors.v1.reason_pb2 import Reason
from services.chassis.postgres import Database
from services.kernel import failpoint
from services.kernel.errors import ClientError
from services.kernel.failpoint import Action, Failpoint
from services.kernel.tally import tally
from tests.applications import (
    RunningApplications,
    applications_config,
    content,
    drafts_on,
    running,
    save_request,
    seed_draft,
    wrapped_key,
)
from tests.mesh import Mesh, reason_of, refused
from tests.postgres import FreshDatabase
from tests.wire import Cut, wired

BEGIN_SUBMIT = """
INSERT INTO finalize_operations (operation_id, application_id, kind, status, generation, holder, lease_expires_at)
VALUES ($1, $1, 'initial', 'in_progress', 1, gen_random_uuid(), clock_timestamp() + interval '1 minute')
"""
COMPENSATE = "UPDATE finalize_operations SET status = 'compensating' WHERE operation_id = $1"
ABORT = """
UPDATE finalize_operations
   SET status = 'aborted', holder = NULL, lease_expires_at = NULL
 WHERE operation_id = $1
"""
EXPIRE = "UPDATE application_drafts SET expires_at = clock_timestamp() WHERE application_id = $1"


async def get(service: RunningApplications, application_id: uuid.UUID) -> pb.GetDraftResponse:
    return await service.drafts.GetDraft(pb.GetDraftRequest(application_id=str(application_id)))


async def as_owner(fresh: FreshDatabase, statement: str, application_id: uuid.UUID) -> None:
    async with fresh.as_owner() as owner:
        await owner.execute(statement, application_id)


async def test_a_saved_draft_is_served_as_it_was_sent(service: RunningApplications, db: Database) -> None:
    """DRF-02: the whole content, byte for byte; the server reads none of it."""
    draft = await seed_draft(db)
    empty = await get(service, draft)
    save = save_request(draft)

    saved = await service.drafts.SaveDraft(save)

    assert (empty.revision, empty.HasField("content"), empty.HasField("wrapped_key")) == (0, False, False)
    assert not empty.HasField("saved_at")
    stored = await get(service, draft)
    assert saved.revision == 1
    assert (stored.revision, stored.content, stored.wrapped_key) == (1, save.content, save.wrapped_key)
    assert (stored.saved_at, stored.expires_at) == (saved.saved_at, saved.expires_at)
    assert not stored.finalize_in_progress


async def test_every_save_moves_the_expiry(service: RunningApplications, db: Database) -> None:
    """DRF-02: 30 days from the last save, on the database's clock."""
    draft = await seed_draft(db)

    first = await service.drafts.SaveDraft(save_request(draft))
    second = await service.drafts.SaveDraft(save_request(draft, 1))

    for saved in (first, second):
        assert saved.expires_at.ToDatetime(UTC) - saved.saved_at.ToDatetime(UTC) == timedelta(days=30)
    assert second.expires_at.ToDatetime() > first.expires_at.ToDatetime()


async def test_a_later_save_may_keep_or_replace_the_wrapped_key(service: RunningApplications, db: Database) -> None:
    """DRF-03: a new passcode wraps the same key again; nothing else has to be sent for it."""
    draft = await seed_draft(db)
    first, new_key = save_request(draft), wrapped_key()
    await service.drafts.SaveDraft(first)

    await service.drafts.SaveDraft(save_request(draft, 1, wrapped_key=None))
    kept = await get(service, draft)
    await service.drafts.SaveDraft(save_request(draft, 2, wrapped_key=new_key))
    replaced = await get(service, draft)

    assert kept.wrapped_key == first.wrapped_key
    assert replaced.wrapped_key == new_key


async def test_a_stale_save_is_refused_and_told_the_revision(service: RunningApplications, db: Database) -> None:
    """DRF-04: two tabs cannot silently overwrite each other."""
    draft = await seed_draft(db)
    await service.drafts.SaveDraft(save_request(draft))
    winner = save_request(draft, 1)
    await service.drafts.SaveDraft(winner)

    for stale in (0, 1, 3, 2**64 - 1):
        with pytest.raises(ClientError) as raised:
            await service.drafts.SaveDraft(save_request(draft, stale))
        assert reason_of(raised.value) == "REASON_REVISION_STALE"
        assert raised.value.metadata["revision"] == "2"

    assert (await get(service, draft)).content == winner.content


async def test_a_repeated_save_gets_the_first_answer(service: RunningApplications, db: Database) -> None:
    """DRF-04: whoever lost an answer asks again and learns it; the draft is not saved twice."""
    draft = await seed_draft(db)
    save = save_request(draft)

    first = await service.drafts.SaveDraft(save)
    again = await service.drafts.SaveDraft(save)

    assert again == first
    assert (await get(service, draft)).revision == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda save: save.content.CopyFrom(content()),
        lambda save: save.wrapped_key.CopyFrom(wrapped_key()),
        lambda save: save.ClearField("wrapped_key"),
        lambda save: setattr(save, "expected_revision", 7),
    ],
    ids=["content", "wrapped_key", "no wrapped_key", "expected_revision"],
)
async def test_a_save_id_stands_for_one_save(
    service: RunningApplications, db: Database, change: Callable[[pb.SaveDraftRequest], None]
) -> None:
    """DRF-04: a used save id with anything else in it is refused, and stored nowhere."""
    draft = await seed_draft(db)
    await service.drafts.SaveDraft(save_request(draft))
    save = save_request(draft, 1)
    await service.drafts.SaveDraft(save)
    other = pb.SaveDraftRequest()
    other.CopyFrom(save)
    change(other)

    with refused(Reason.REASON_SAVE_ID_REUSED):
        await service.drafts.SaveDraft(other)

    stored = await get(service, draft)
    assert (stored.content, stored.wrapped_key) == (save.content, save.wrapped_key)


@pytest.mark.parametrize("cut", list(Cut))
async def test_a_lost_commit_of_a_save_is_settled(fresh: FreshDatabase, cut: Cut) -> None:
    """FIN-22: COMMIT or its answer is lost: the save is answered, and stands exactly once."""
    async with wired(fresh.service) as (wire, through_wire), Database.open(through_wire) as db:
        draft, sent = await seed_draft(db), content()
        with drafts_on(db) as drafts:
            wire.cut = cut

            saved = await drafts.save(draft, uuid.uuid4(), 0, sent, wrapped_key())

            stored, _ = await drafts.get(draft)

    assert wire.cuts == 1
    assert (saved.revision, stored.revision, stored.content) == (1, 1, sent)
    assert (stored.saved_at, stored.expires_at) == (saved.saved_at, saved.expires_at)


async def test_a_save_that_breaks_before_its_commit_left_nothing(service: RunningApplications, db: Database) -> None:
    """DRF-04: only an acknowledged save, or its repeat, is a save."""
    draft = await seed_draft(db)
    failpoint.arm(Failpoint.DRAFTS_SAVE_BEFORE_COMMIT, Action.RAISE)
    save = save_request(draft)

    with refused(Reason.REASON_INTERNAL):
        await service.drafts.SaveDraft(save)

    assert (await get(service, draft)).revision == 0
    assert (await service.drafts.SaveDraft(save)).revision == 1


async def test_while_a_submit_is_under_way_nothing_is_saved(
    service: RunningApplications, db: Database, fresh: FreshDatabase
) -> None:
    """DRF-12: in progress or being undone, saves are refused with a reason; once undone the draft can change."""
    draft = await seed_draft(db)
    first = save_request(draft)
    answer = await service.drafts.SaveDraft(first)

    for step in (BEGIN_SUBMIT, COMPENSATE):
        await as_owner(fresh, step, draft)
        with refused(Reason.REASON_FINALIZE_IN_PROGRESS):
            await service.drafts.SaveDraft(save_request(draft, 1))
        assert await service.drafts.SaveDraft(first) == answer  # a repeat changes nothing
        assert (await get(service, draft)).finalize_in_progress

    await as_owner(fresh, ABORT, draft)
    assert (await service.drafts.SaveDraft(save_request(draft, 1))).revision == 2
    assert not (await get(service, draft)).finalize_in_progress


async def test_a_submit_that_began_while_a_save_waited_refuses_it(
    service: RunningApplications, db: Database, fresh: FreshDatabase
) -> None:
    """DRF-12: the save looks for a submit after it holds the draft, not before."""
    draft = await seed_draft(db)
    async with fresh.as_owner() as owner:
        await owner.execute("BEGIN")
        await owner.execute("SELECT FROM application_drafts WHERE application_id = $1 FOR UPDATE", draft)
        saving = asyncio.ensure_future(service.drafts.SaveDraft(save_request(draft)))
        while not await owner.fetchval("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)"):  # noqa: ASYNC110
            await asyncio.sleep(0)
        await owner.execute(BEGIN_SUBMIT, draft)
        await owner.execute("COMMIT")

        with refused(Reason.REASON_FINALIZE_IN_PROGRESS):
            await saving


async def test_every_absence_is_the_same_absence(
    service: RunningApplications, db: Database, fresh: FreshDatabase
) -> None:
    """DRF-04: never was, expired, or gone: one refusal, byte for byte but for the trace id."""
    expired, deleted = await seed_draft(db), await seed_draft(db)
    await as_owner(fresh, EXPIRE, expired)
    await as_owner(fresh, "DELETE FROM application_drafts WHERE application_id = $1", deleted)

    for draft in (uuid.uuid4(), expired, deleted):
        for call in (get(service, draft), service.drafts.SaveDraft(save_request(draft))):
            with pytest.raises(ClientError) as raised:
                await call
            assert reason_of(raised.value) == "REASON_DRAFT_NOT_FOUND"
            assert set(raised.value.metadata) <= {"trace_id"}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"content": content(5_000)}, "content.padded_len"),
        ({"content": content(4_096, size=4_113)}, "content.ciphertext"),
        ({"content": content(68 * 1_024)}, "content.padded_len"),
        ({"content": content(4_096, enc_version=2)}, "content.enc_version"),
        ({"wrapped_key": None}, "wrapped_key"),
        ({"wrapped_key": WrappedKey(nonce=bytes(23), ciphertext=bytes(48))}, "wrapped_key.nonce"),
        ({"save_id": "not-a-uuid"}, "save_id"),
    ],
)
async def test_a_malformed_save_is_refused_by_field(
    service: RunningApplications, db: Database, change: dict[str, Any], field: str
) -> None:
    """DRF-04: padding buckets only, and the refusal names the field."""
    draft = await seed_draft(db)

    with pytest.raises(ClientError) as raised:
        await service.drafts.SaveDraft(save_request(draft, **change))

    assert reason_of(raised.value) == "REASON_INVALID_FIELD"
    assert raised.value.metadata["field"] == field
    assert (await get(service, draft)).revision == 0


@pytest.mark.parametrize("padded_len", [4_096, 65_536, 81_920, 262_144])
async def test_every_size_of_bucket_is_stored(service: RunningApplications, db: Database, padded_len: int) -> None:
    """DRF-04: from the smallest bucket to the largest."""
    draft = await seed_draft(db)
    save = save_request(draft, content=content(padded_len))

    await service.drafts.SaveDraft(save)

    assert (await get(service, draft)).content == save.content


async def test_of_two_saves_at_once_exactly_one_wins(service: RunningApplications, db: Database) -> None:
    """DRF-04: a hundred races of two tabs: one is saved, the other is told to read again."""
    draft = await seed_draft(db)
    for revision in range(100):
        tabs = [save_request(draft, revision), save_request(draft, revision)]

        answers = await asyncio.gather(*(service.drafts.SaveDraft(tab) for tab in tabs), return_exceptions=True)

        won = [tab for tab, answer in zip(tabs, answers, strict=True) if isinstance(answer, pb.SaveDraftResponse)]
        lost = [answer for answer in answers if isinstance(answer, BaseException)]
        assert [reason_of(error) for error in lost] == ["REASON_REVISION_STALE"]
        stored = await get(service, draft)
        assert (stored.revision, stored.content) == (revision + 1, won[0].content)


async def test_a_read_is_one_statement_and_a_save_three(service: RunningApplications, db: Database) -> None:
    """DRF-02: counts that do not vary with the machine; a save is one transaction."""
    draft = await seed_draft(db)

    with tally() as save:
        await service.drafts.SaveDraft(save_request(draft))
    with tally() as read:
        await get(service, draft)

    assert (save.statements, save.commits, save.round_trips) == (3, 1, 5)
    assert (read.statements, read.round_trips) == (1, 1)


CALLS = {
    "CreateDraft": pb.CreateDraftRequest(request_id=str(uuid.uuid4())),
    "SaveDraft": save_request(uuid.uuid4()),
    "GetDraft": pb.GetDraftRequest(application_id=str(uuid.uuid4())),
    "VerifyCredentials": pb.VerifyCredentialsRequest(code="HH-00000000", passcode="0000-0000-0000"),
}


@pytest.mark.parametrize("caller", ["canopy-persons", "canopy-applications", "canopy-reporting", "test-steward"])
async def test_only_the_portal_may_call(mesh: Mesh, fresh: FreshDatabase, caller: str) -> None:
    """MSH-03: every other caller, service or person, is refused for every method, before the message is read."""
    async with running(mesh, applications_config(mesh, fresh), caller=caller) as service:
        for method, request in CALLS.items():
            with refused(Reason.REASON_CALLER_NOT_ALLOWED):
                await getattr(service.drafts, method)(request)


async def test_a_call_without_a_token_is_refused(service: RunningApplications) -> None:
    """MSH-03: no method of drafts is public."""
    async with grpc.aio.insecure_channel(f"127.0.0.1:{service.port}") as channel:
        for method, request in CALLS.items():
            call = channel.unary_unary(
                f"/canopy.applications.v1.DraftsService/{method}",
                request_serializer=type(request).SerializeToString,
                response_deserializer=error_details_pb2.ErrorInfo.FromString,
            )
            with refused(Reason.REASON_UNAUTHENTICATED):
                await call(request)
