"""Opening, saving and reading encrypted drafts (ADR-026). The server cannot read what it keeps here.

A passcode is in the answer of the opening and nowhere else, so an opening that is repeated cannot give the first answer
again: it opens a new draft, and the first one, whose passcode nobody has, goes.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from canopy.applications.v1.draft_pb2 import DraftContent, Kdf, WrappedKey
from canopy.errors.v1.reason_pb2 import Reason
from services.applications.config import DraftsConfig
from services.applications.domain import draft_rules
from services.applications.domain.credentials import mint_code, mint_passcode
from services.applications.domain.login import Verifiers
from services.applications.domain.pepper import Pepper
from services.applications.store import credentials, drafts
from services.applications.store.drafts import Draft, LockedDraft, NewDraft, Saved
from services.chassis.postgres import Database
from services.chassis.postgres_transaction import Transaction
from services.kernel import failpoint
from services.kernel.errors import Refusal, Violation, invalid
from services.kernel.failpoint import Failpoint
from services.kernel.secret import Secret

CODE_TRIES: Final = 8
"""How many codes are tried. With a million codes in use one is taken with probability 1 in 4,000."""

_REPLACEMENTS: Final = 5
_KDF_SALT_BYTES: Final = 16
_SHARE_BYTES: Final = 32
_SHARED_ENC_VERSION: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedDraft:
    """What the applicant must keep, and what their device needs. passcode: twelve digits. share: may be empty."""

    application_id: uuid.UUID
    code: str
    passcode: Secret[str]
    kdf: Kdf
    share: Secret[bytes]
    enc_version: int
    expires_at: datetime
    credential_epoch: int


class Drafts:
    """The drafts of the service."""

    def __init__(
        self,
        db: Database,
        verifiers: Verifiers,
        pepper: Pepper,
        config: DraftsConfig,
        *,
        new_code: Callable[[], str] = mint_code,
    ) -> None:
        """new_code: makes codes, some of which may be taken."""
        self._db = db
        self._verifiers = verifiers
        self._pepper = pepper
        self._config = config
        self._new_code = new_code

    async def open(self, request_id: uuid.UUID, wanted: Kdf | None) -> OpenedDraft:
        """Reserve an application id, a code and a passcode, and open an empty draft.

        wanted: the derivation that the device can afford. Raises Refusal: REASON_INVALID_FIELD, REASON_CODES_EXHAUSTED,
        REASON_OVERLOADED.
        """
        kdf = _kdf(wanted)
        application_id = uuid.uuid4()
        passcode = mint_passcode()
        verifier = await self._verifiers.make(application_id, passcode)
        share = Secret(secrets.token_bytes(_SHARE_BYTES) if self._config.enc_version == _SHARED_ENC_VERSION else b"")
        draft = NewDraft(
            application_id=application_id,
            request_id=request_id,
            kdf=kdf,
            enc_version=self._config.enc_version,
            share=self._pepper.seal_share(application_id, share) if share.reveal() else None,
        )

        async def work(tx: Transaction) -> tuple[datetime, str, int]:
            expires_at = await _insert(tx, draft)
            await failpoint.reach(Failpoint.DRAFTS_CREATE_AFTER_DRAFT)
            code = await self._give_code(tx, application_id)
            await failpoint.reach(Failpoint.DRAFTS_CREATE_AFTER_CODE)
            epoch = await credentials.insert_verifier(tx, application_id, verifier)
            await failpoint.reach(Failpoint.DRAFTS_CREATE_AFTER_HASH)
            return expires_at, code, epoch

        async def reread(tx: Transaction) -> tuple[datetime, str, int] | None:
            return await drafts.opened(tx, application_id)

        expires_at, code, epoch = await self._db.transact("drafts.open", work, reread=reread)
        return OpenedDraft(
            application_id=application_id,
            code=code,
            passcode=passcode,
            kdf=kdf,
            share=share,
            enc_version=draft.enc_version,
            expires_at=expires_at,
            credential_epoch=epoch,
        )

    async def save(
        self,
        application_id: uuid.UUID,
        save_id: uuid.UUID,
        expected_revision: int,
        content: DraftContent,
        wrapped_key: WrappedKey | None,
    ) -> Saved:
        """Replace the content of a draft, if it is at `expected_revision`; a repeated save gets the first answer.

        Raises Refusal: REASON_INVALID_FIELD, REASON_DRAFT_NOT_FOUND, REASON_SAVE_ID_REUSED,
        REASON_FINALIZE_IN_PROGRESS, REASON_REVISION_STALE.
        """
        if broken := tuple(draft_rules.save_violations(expected_revision, content, wrapped_key)):
            raise invalid(*broken)
        new = drafts.Save(
            application_id=application_id,
            save_id=save_id,
            digest=draft_rules.save_digest(expected_revision, content, wrapped_key),
            content=content,
            wrapped_key=wrapped_key,
        )

        async def work(tx: Transaction) -> Saved:
            draft = await drafts.lock(tx, application_id)
            if draft is None or not draft.live:
                raise Refusal(Reason.REASON_DRAFT_NOT_FOUND)
            if (first := _first_answer(draft, new)) is not None:
                return first
            if draft.submitting:
                raise Refusal(Reason.REASON_FINALIZE_IN_PROGRESS)
            if draft.revision != expected_revision:
                raise Refusal(Reason.REASON_REVISION_STALE, revision=str(draft.revision))
            if content.enc_version != draft.enc_version:
                raise invalid(Violation(field="content.enc_version", rule="enc_version_of_draft"))
            saved = await drafts.save(tx, new)
            await failpoint.reach(Failpoint.DRAFTS_SAVE_BEFORE_COMMIT)
            return saved

        async def reread(tx: Transaction) -> Saved | None:
            draft = await drafts.lock(tx, application_id)
            return None if draft is None else _first_answer(draft, new)

        return await self._db.transact("drafts.save", work, reread=reread)

    async def get(self, application_id: uuid.UUID) -> tuple[Draft, Secret[bytes]]:
        """Return a draft and the server's share of its key, empty for enc_version 1.

        Raises Refusal(REASON_DRAFT_NOT_FOUND), the same for a draft that never was, expired or was submitted.
        """
        draft = await drafts.get(self._db, application_id)
        if draft is None:
            raise Refusal(Reason.REASON_DRAFT_NOT_FOUND)
        share = Secret(b"") if draft.share is None else self._pepper.open_share(application_id, draft.share)
        return draft, share

    async def _give_code(self, tx: Transaction, application_id: uuid.UUID) -> str:
        for _ in range(CODE_TRIES):
            code = self._new_code()
            if await credentials.insert_code(tx, application_id, code):
                return code
        raise Refusal(Reason.REASON_CODES_EXHAUSTED)


async def _insert(tx: Transaction, draft: NewDraft) -> datetime:
    """Insert a draft in place of the one that the same request opened before, however many of them race."""
    for _ in range(_REPLACEMENTS):
        expires_at = await drafts.insert(tx, draft)
        if expires_at is not None:
            return expires_at
        await _make_way(tx, draft.request_id)
    raise Refusal(Reason.REASON_OVERLOADED)


async def _make_way(tx: Transaction, request_id: uuid.UUID) -> None:
    """Delete the draft that a request opened before: its answer was lost, so nobody has its passcode.

    A draft that was saved or submitted since was answered, and it is this call that comes late: the draft stays.
    """
    first = await drafts.lock_of_request(tx, request_id)
    if first is None:  # another call has replaced it meanwhile
        return
    if await drafts.is_used(tx, first):
        await drafts.forget_request(tx, first)
        return
    await drafts.delete(tx, first)
    await credentials.delete(tx, first)


def _first_answer(draft: LockedDraft, new: drafts.Save) -> Saved | None:
    """Return what was answered to the same save before; None where it is a new one. Refuses another save's id."""
    if draft.save_id != new.save_id:
        return None
    if draft.save_digest != new.digest:
        raise Refusal(Reason.REASON_SAVE_ID_REUSED)
    assert draft.saved_at is not None  # a save id and its instant are stored together
    return Saved(revision=draft.revision, saved_at=draft.saved_at, expires_at=draft.expires_at)


def _kdf(wanted: Kdf | None) -> Kdf:
    """Choose the derivation of a new draft, with a salt of its own."""
    kdf = Kdf(kdf_id=draft_rules.KDF_ID, memory_kib=draft_rules.DEFAULT_MEMORY_KIB, passes=draft_rules.DEFAULT_PASSES)
    if wanted is not None:
        if broken := tuple(draft_rules.kdf_violations(wanted)):
            raise invalid(*broken)
        kdf.CopyFrom(wanted)
    kdf.salt = secrets.token_bytes(_KDF_SALT_BYTES)
    return kdf
