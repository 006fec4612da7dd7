"""Opening a draft, over the wire."""

from __future__ import annotations

import asyncio
import base64
import re
import urllib.parse
import uuid
from datetime import UTC, datetime, timedelta

import asyncpg
import pytest

from canopy.applications.v1 import drafts_service_pb2 as pb
from canopy.applications.v1.draft_pb2 import Kdf
from canopy.errors.v1.reason_pb2 import Reason
from services.applications.config import DraftsConfig
from services.applications.domain.drafts import CODE_TRIES
from services.chassis.postgres import Database
from services.kernel import failpoint
from services.kernel.failpoint import Action, Failpoint
from tests.applications import RunningApplications, applications_config, drafts_on, running, save_request
from tests.mesh import Mesh, refused
from tests.postgres import FreshDatabase
from tests.wire import Cut, wired

TABLES = ("application_drafts", "application_id_codes", "passcode_hashes")


def request(request_id: uuid.UUID | None = None, kdf: Kdf | None = None) -> pb.CreateDraftRequest:
    return pb.CreateDraftRequest(request_id=str(request_id or uuid.uuid4()), kdf=kdf)


async def count(fresh: FreshDatabase, table: str) -> int:
    async with fresh.as_owner() as owner:
        rows = await owner.fetch(f"SELECT FROM {table}")
    return len(rows)


async def dump(fresh: FreshDatabase) -> str:
    """Return every row of every table as PostgreSQL spells it in a dump."""
    async with fresh.as_admin() as admin:
        names = await admin.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        rows = [await admin.fetch(f'SELECT t::text AS line FROM "{each["tablename"]}" t') for each in names]
    return "\n".join(row["line"] for table in rows for row in table)


async def test_a_new_draft_answers_what_the_applicant_must_keep(service: RunningApplications) -> None:
    """DRF-01: a reserved application id, a code, a passcode, and how the device derives the key."""
    before = datetime.now(UTC)

    draft = await service.drafts.CreateDraft(request())

    assert uuid.UUID(draft.application_id).version == 4
    assert re.fullmatch("HH-[0-9a-f]{8}", draft.code)
    assert re.fullmatch("[0-9]{4}-[0-9]{4}-[0-9]{4}", draft.passcode)
    assert (draft.kdf.kdf_id, draft.kdf.memory_kib, draft.kdf.passes, len(draft.kdf.salt)) == (1, 65_536, 3, 16)
    assert (draft.enc_version, draft.server_share, draft.credential_epoch) == (1, b"", 1)
    assert draft.expires_at.ToDatetime(UTC) - before >= timedelta(days=30)
    assert draft.expires_at.ToDatetime(UTC) <= datetime.now(UTC) + timedelta(days=30)


async def test_a_new_draft_is_three_rows_and_no_application(service: RunningApplications, fresh: FreshDatabase) -> None:
    """DRF-06: a draft is nowhere but in its own tables."""
    await service.drafts.CreateDraft(request())

    assert [await count(fresh, table) for table in TABLES] == [1, 1, 1]
    for table in ("applications", "application_determinations", "finalize_operations", "event_outbox"):
        assert await count(fresh, table) == 0


async def test_the_passcode_is_nowhere_in_the_database(service: RunningApplications, fresh: FreshDatabase) -> None:
    """DRF-01: what is stored is a hash; no spelling of the passcode is in a dump, while the code, for control, is."""
    draft = await service.drafts.CreateDraft(request())
    digits = draft.passcode.replace("-", "")

    rows = (await dump(fresh)).lower()

    assert draft.code.lower() in rows
    spellings = [digits, draft.passcode, digits[::-1], urllib.parse.quote(draft.passcode)]
    for spelling in spellings:
        encoded = spelling.encode()
        for form in (
            spelling,
            encoded.hex(),
            base64.b64encode(encoded).decode(),
            base64.urlsafe_b64encode(encoded).decode(),
        ):
            assert form.lower().rstrip("=") not in rows
    assert f"{int(digits):x}".zfill(10) not in rows


async def test_the_login_salt_is_not_the_draft_salt(service: RunningApplications, fresh: FreshDatabase) -> None:
    """DRF-03: two salts, both random, so that a verifier says nothing about a draft's key."""
    drafts = [await service.drafts.CreateDraft(request()) for _ in range(3)]

    async with fresh.as_owner() as owner:
        login_salts = {row["salt"] for row in await owner.fetch("SELECT salt FROM passcode_hashes")}
    assert len(login_salts | {draft.kdf.salt for draft in drafts}) == 6


async def test_a_device_may_trade_memory_for_passes(service: RunningApplications) -> None:
    """DRF-09: the derivation is chosen once, recorded, and not cheaper than the floor."""
    draft = await service.drafts.CreateDraft(request(kdf=Kdf(kdf_id=1, memory_kib=32_768, passes=6)))

    stored = await service.drafts.GetDraft(pb.GetDraftRequest(application_id=draft.application_id))
    assert (stored.kdf.memory_kib, stored.kdf.passes) == (32_768, 6)
    assert stored.kdf == draft.kdf
    with refused(Reason.REASON_INVALID_FIELD):
        await service.drafts.CreateDraft(request(kdf=Kdf(kdf_id=1, memory_kib=32_768, passes=5)))


async def test_a_repeated_request_opens_a_new_draft_and_deletes_the_first(
    service: RunningApplications, fresh: FreshDatabase
) -> None:
    """DRF-01: a passcode is never given twice: whoever lost the answer gets another draft."""
    request_id = uuid.uuid4()

    first = await service.drafts.CreateDraft(request(request_id))
    second = await service.drafts.CreateDraft(request(request_id))

    assert first.application_id != second.application_id
    assert first.passcode != second.passcode
    assert [await count(fresh, table) for table in TABLES] == [1, 1, 1]
    with refused(Reason.REASON_DRAFT_NOT_FOUND):
        await service.drafts.GetDraft(pb.GetDraftRequest(application_id=first.application_id))
    await service.drafts.GetDraft(pb.GetDraftRequest(application_id=second.application_id))


async def test_a_repeated_request_that_comes_late_leaves_a_used_draft_alone(
    service: RunningApplications, fresh: FreshDatabase
) -> None:
    """DRF-01: a draft that was saved had its answer; a copy of its request that comes late deletes nothing."""
    request_id = uuid.uuid4()
    first = await service.drafts.CreateDraft(request(request_id))
    await service.drafts.SaveDraft(save_request(first.application_id))

    await service.drafts.CreateDraft(request(request_id))
    await service.drafts.CreateDraft(request(request_id))

    kept = await service.drafts.GetDraft(pb.GetDraftRequest(application_id=first.application_id))
    assert kept.revision == 1
    assert [await count(fresh, table) for table in TABLES] == [2, 2, 2]


async def test_concurrent_openings_of_one_request_leave_one_draft(
    service: RunningApplications, fresh: FreshDatabase
) -> None:
    """DRF-01: however they race, each gets a draft of its own and one of them is left."""
    request_id = uuid.uuid4()

    drafts = await asyncio.gather(*(service.drafts.CreateDraft(request(request_id)) for _ in range(6)))

    assert len({draft.application_id for draft in drafts}) == 6
    assert [await count(fresh, table) for table in TABLES] == [1, 1, 1]


@pytest.mark.parametrize(
    "point",
    [Failpoint.DRAFTS_CREATE_AFTER_DRAFT, Failpoint.DRAFTS_CREATE_AFTER_CODE, Failpoint.DRAFTS_CREATE_AFTER_HASH],
)
async def test_an_opening_that_breaks_leaves_nothing(
    service: RunningApplications, fresh: FreshDatabase, point: Failpoint
) -> None:
    """DRF-01: draft, code and verifier exist together or not at all; what breaks names no secret."""
    failpoint.arm(point, Action.RAISE)

    with refused(Reason.REASON_INTERNAL):
        await service.drafts.CreateDraft(request())

    assert [await count(fresh, table) for table in TABLES] == [0, 0, 0]


@pytest.mark.parametrize("cut", list(Cut))
async def test_a_lost_commit_of_an_opening_is_settled(mesh: Mesh, fresh: FreshDatabase, cut: Cut) -> None:
    """FIN-22: COMMIT or its answer is lost: the draft that is answered is the one that exists."""
    async with wired(fresh.service) as (wire, through_wire), Database.open(through_wire) as db:
        await db.ping()
        with drafts_on(db) as drafts:
            wire.cut = cut

            draft = await drafts.open(uuid.uuid4(), None)

    assert wire.cuts == 1
    assert [await count(fresh, table) for table in TABLES] == [1, 1, 1]
    credentials = pb.VerifyCredentialsRequest(code=draft.code, passcode=draft.passcode.reveal())
    async with running(mesh, applications_config(mesh, fresh)) as service:
        verified = await service.drafts.VerifyCredentials(credentials)
    assert verified.application_id == str(draft.application_id)


class Codes:
    """A source of codes of which the first ones are taken."""

    def __init__(self, taken: str, tries: int) -> None:
        self.asked = 0
        self._taken = taken
        self._tries = tries

    def __call__(self) -> str:
        self.asked += 1
        return self._taken if self.asked <= self._tries else f"HH-{self.asked:08x}"


@pytest.mark.parametrize(("collisions", "opens"), [(CODE_TRIES - 1, True), (CODE_TRIES, False)])
async def test_a_taken_code_is_tried_again_a_bounded_number_of_times(
    db: Database, fresh: FreshDatabase, collisions: int, opens: bool
) -> None:
    """DRF-01: the UNIQUE constraint decides; when no free code is found nothing is left behind."""
    taken = "HH-00000000"
    async with fresh.as_owner() as owner:
        await owner.execute("INSERT INTO application_id_codes VALUES (gen_random_uuid(), $1)", taken)
    codes = Codes(taken, collisions)
    with drafts_on(db, codes) as drafts:
        if opens:
            assert (await drafts.open(uuid.uuid4(), None)).code == f"HH-{CODE_TRIES:08x}"
        else:
            with refused(Reason.REASON_CODES_EXHAUSTED):
                await drafts.open(uuid.uuid4(), None)

    assert codes.asked == CODE_TRIES
    assert [await count(fresh, table) for table in TABLES] == ([1, 2, 1] if opens else [0, 1, 0])


async def test_a_share_of_the_server_is_stored_encrypted(mesh: Mesh, fresh: FreshDatabase) -> None:
    """DRF-11: with enc_version 2 a stolen database lacks a part of the key; version 1 drafts stay readable."""
    async with running(mesh, applications_config(mesh, fresh)) as service:
        old = await service.drafts.CreateDraft(request())
    async with running(mesh, applications_config(mesh, fresh, drafts=DraftsConfig(enc_version=2))) as service:
        new = await service.drafts.CreateDraft(request())

        stored_old = await service.drafts.GetDraft(pb.GetDraftRequest(application_id=old.application_id))
        stored_new = await service.drafts.GetDraft(pb.GetDraftRequest(application_id=new.application_id))

    assert (stored_old.enc_version, stored_old.server_share) == (1, b"")
    assert (stored_new.enc_version, len(stored_new.server_share)) == (2, 32)
    assert stored_new.server_share == new.server_share
    assert new.server_share.hex() not in await dump(fresh)


async def test_no_row_of_these_tables_goes_with_another(fresh: FreshDatabase) -> None:
    """DRF-05: draft, code and verifier are joined by no foreign key, and no key anywhere cascades."""
    async with fresh.as_owner() as owner:
        keys = await owner.fetch(
            "SELECT conrelid::regclass::text AS source, confrelid::regclass::text AS target,"
            "       confdeltype::text AS deletes FROM pg_constraint WHERE contype = 'f'"
        )

    assert {key["deletes"] for key in keys} == {"a"}  # no action
    assert {key["source"] for key in keys}.isdisjoint(TABLES)
    assert {key["target"] for key in keys}.isdisjoint(TABLES)
    assert {(key["source"], key["target"]) for key in keys} == {
        ("application_determinations", "applications"),
        ("finalize_attempts", "finalize_operations"),
    }


@pytest.mark.parametrize("table", ["applications", "application_determinations", "finalize_operations"])
@pytest.mark.parametrize("statement", ["DELETE FROM {}", "TRUNCATE {} CASCADE"])
async def test_the_service_cannot_remove_what_was_filed(fresh: FreshDatabase, table: str, statement: str) -> None:
    """MSH-18: the role of the service has no right to; and it owns none of its tables."""
    service = await asyncpg.connect(fresh.service.dsn, password=fresh.service.password.reveal())
    try:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await service.execute(statement.format(table))
    finally:
        await service.close()
