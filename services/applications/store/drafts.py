"""SQL of encrypted drafts. Whoever changes or deletes a draft locks its row first; it comes first in the lock order."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import asyncpg

from canopy.applications.v1.draft_pb2 import DraftContent, Kdf, WrappedKey
from services.applications.store.peppered import Sealed
from services.chassis.postgres import Database
from services.chassis.postgres_transaction import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDraft:
    """An empty draft about to be opened. `share`: the server's share of the key, for enc_version 2."""

    application_id: uuid.UUID
    request_id: uuid.UUID
    kdf: Kdf
    enc_version: int
    share: Sealed | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedDraft:
    """What a save has to know of a draft whose row it holds."""

    revision: int
    save_id: uuid.UUID | None
    save_digest: bytes | None
    enc_version: int
    live: bool  # it has not expired
    submitting: bool  # a finalize attempt is under way or being undone
    saved_at: datetime | None
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Save:
    """A whole new content. `digest`: SHA-256 of everything that was sent. No `wrapped_key`: the stored one stays."""

    application_id: uuid.UUID
    save_id: uuid.UUID
    digest: bytes
    content: DraftContent
    wrapped_key: WrappedKey | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """Where a save left the draft."""

    revision: int
    saved_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A draft as it was last saved; content, wrapped key and instant are absent when it never was."""

    revision: int
    content: DraftContent | None
    wrapped_key: WrappedKey | None
    kdf: Kdf
    enc_version: int
    share: Sealed | None
    saved_at: datetime | None
    expires_at: datetime
    submitting: bool


# 720 hours are 30 days whatever the session's time zone says of daylight saving.
INSERT_DRAFT: Final = """
WITH now AS MATERIALIZED (
  SELECT clock_timestamp() AS at
)
INSERT INTO application_drafts (application_id, request_id, kdf_id, kdf_memory_kib, kdf_passes, kdf_salt, enc_version,
                                server_share, share_kid, created_at, expires_at)
SELECT $1::uuid, $2::uuid, $3::smallint, $4::integer, $5::smallint, $6::bytea, $7::smallint, $8::bytea, $9::text,
       now.at, now.at + interval '720 hours'
  FROM now
    ON CONFLICT (request_id) DO NOTHING
RETURNING expires_at
"""


async def insert(tx: Transaction, draft: NewDraft) -> datetime | None:
    """Open a draft and return when it expires; None when there is a draft of the same request already."""
    return await tx.fetchval(
        INSERT_DRAFT,
        draft.application_id,
        draft.request_id,
        draft.kdf.kdf_id,
        draft.kdf.memory_kib,
        draft.kdf.passes,
        draft.kdf.salt,
        draft.enc_version,
        draft.share.ciphertext if draft.share else None,
        draft.share.kid if draft.share else None,
    )


LOCK_OF_REQUEST: Final = """
SELECT application_id
  FROM application_drafts
 WHERE request_id = $1                  -- uuid
   FOR UPDATE                           -- neither saved nor submitted while it is decided what becomes of it
"""


async def lock_of_request(tx: Transaction, request_id: uuid.UUID) -> uuid.UUID | None:
    """Lock the draft that a request opened, and return its application id; None when there is none."""
    return await tx.fetchval(LOCK_OF_REQUEST, request_id)


IS_USED: Final = """
SELECT d.revision > 0 OR EXISTS (SELECT FROM finalize_operations o WHERE o.operation_id = d.application_id)
  FROM application_drafts d
 WHERE d.application_id = $1            -- uuid
"""


async def is_used(tx: Transaction, application_id: uuid.UUID) -> bool:
    """Tell whether a locked draft was ever saved or submitted: whoever did so has its passcode."""
    return await tx.fetchval(IS_USED, application_id)


FORGET_REQUEST: Final = """
UPDATE application_drafts
   SET request_id = NULL
 WHERE application_id = $1              -- uuid
"""


async def forget_request(tx: Transaction, application_id: uuid.UUID) -> None:
    """Let a locked draft no longer stand for the request that opened it."""
    await tx.execute(FORGET_REQUEST, application_id)


DELETE_DRAFT: Final = """
DELETE FROM application_drafts
 WHERE application_id = $1              -- uuid
"""


async def delete(tx: Transaction, application_id: uuid.UUID) -> int:
    """Delete a locked draft, and nothing else; returns how many rows went: 1, or 0 when there was none."""
    return int((await tx.execute(DELETE_DRAFT, application_id)).removeprefix("DELETE "))


OPENED: Final = """
SELECT d.expires_at, c.code, h.credential_epoch
  FROM application_drafts d
  JOIN application_id_codes c USING (application_id)
  JOIN passcode_hashes h USING (application_id)
 WHERE d.application_id = $1            -- uuid
   FOR UPDATE OF d
"""


async def opened(tx: Transaction, application_id: uuid.UUID) -> tuple[datetime, str, int] | None:
    """Lock a draft and read what its opening answered: expiry, code, epoch; None when it was not opened."""
    row = await tx.fetchrow(OPENED, application_id)
    return None if row is None else (row["expires_at"], row["code"], row["credential_epoch"])


LOCK_DRAFT: Final = """
SELECT true
  FROM application_drafts
 WHERE application_id = $1              -- uuid
   FOR UPDATE                           -- one save, submit or reaping at a time
"""
# A statement of its own: it begins after the lock is held, so it sees what the former holder committed in any table.
READ_LOCKED: Final = """
SELECT d.revision, d.save_id, d.save_digest, d.enc_version, d.last_saved_at, d.expires_at,
       d.expires_at > clock_timestamp() AS live,
       EXISTS (
         SELECT
           FROM finalize_operations o
          WHERE o.operation_id = d.application_id
            AND o.status IN ('in_progress', 'compensating')
       ) AS submitting
  FROM application_drafts d
 WHERE d.application_id = $1            -- uuid
"""


async def lock(tx: Transaction, application_id: uuid.UUID) -> LockedDraft | None:
    """Lock a draft and read where it stands; None when there is none. An expired one is there until it is reaped."""
    if await tx.fetchval(LOCK_DRAFT, application_id) is None:
        return None
    row = await tx.fetchrow(READ_LOCKED, application_id)
    assert row is not None  # the lock keeps it
    return LockedDraft(
        revision=row["revision"],
        save_id=row["save_id"],
        save_digest=row["save_digest"],
        enc_version=row["enc_version"],
        live=row["live"],
        submitting=row["submitting"],
        saved_at=row["last_saved_at"],
        expires_at=row["expires_at"],
    )


SAVE_DRAFT: Final = """
WITH now AS MATERIALIZED (
  SELECT clock_timestamp() AS at
)
UPDATE application_drafts AS d
   SET revision = d.revision + 1,
       save_id = $2,
       save_digest = $3,
       schema_version = $4,
       padded_len = $5,
       nonce = $6,
       ciphertext = $7,
       wrapped_key_nonce = coalesce($8, d.wrapped_key_nonce),
       wrapped_key = coalesce($9, d.wrapped_key),
       last_saved_at = now.at,
       expires_at = now.at + interval '720 hours'
  FROM now
 WHERE d.application_id = $1            -- uuid
RETURNING d.revision, d.last_saved_at, d.expires_at
"""


async def save(tx: Transaction, new: Save) -> Saved:
    """Replace the content of a locked draft and move its expiry to 30 days from now."""
    row = await tx.fetchrow(
        SAVE_DRAFT,
        new.application_id,
        new.save_id,
        new.digest,
        new.content.schema_version,
        new.content.padded_len,
        new.content.nonce,
        new.content.ciphertext,
        new.wrapped_key.nonce if new.wrapped_key else None,
        new.wrapped_key.ciphertext if new.wrapped_key else None,
    )
    assert row is not None  # the lock keeps it
    return Saved(revision=row["revision"], saved_at=row["last_saved_at"], expires_at=row["expires_at"])


GET_DRAFT: Final = """
SELECT d.revision, d.kdf_id, d.kdf_memory_kib, d.kdf_passes, d.kdf_salt, d.enc_version, d.server_share, d.share_kid,
       d.schema_version, d.padded_len, d.nonce, d.ciphertext, d.wrapped_key_nonce, d.wrapped_key, d.last_saved_at,
       d.expires_at,
       EXISTS (
         SELECT
           FROM finalize_operations o
          WHERE o.operation_id = d.application_id
            AND o.status IN ('in_progress', 'compensating')
       ) AS submitting
  FROM application_drafts d
 WHERE d.application_id = $1            -- uuid
   AND d.expires_at > clock_timestamp()
"""


async def get(db: Database, application_id: uuid.UUID) -> Draft | None:
    """Read a draft that has not expired, in one statement."""
    row = await db.fetchrow(GET_DRAFT, application_id)
    if row is None:
        return None
    saved = row["revision"] > 0
    return Draft(
        revision=row["revision"],
        content=_content(row) if saved else None,
        wrapped_key=WrappedKey(nonce=row["wrapped_key_nonce"], ciphertext=row["wrapped_key"]) if saved else None,
        kdf=Kdf(kdf_id=row["kdf_id"], memory_kib=row["kdf_memory_kib"], passes=row["kdf_passes"], salt=row["kdf_salt"]),
        enc_version=row["enc_version"],
        share=_share(row),
        saved_at=row["last_saved_at"],
        expires_at=row["expires_at"],
        submitting=row["submitting"],
    )


def _content(row: asyncpg.Record) -> DraftContent:
    return DraftContent(
        enc_version=row["enc_version"],
        schema_version=row["schema_version"],
        padded_len=row["padded_len"],
        nonce=row["nonce"],
        ciphertext=row["ciphertext"],
    )


def _share(row: asyncpg.Record) -> Sealed | None:
    return None if row["share_kid"] is None else Sealed(kid=row["share_kid"], ciphertext=row["server_share"])
