"""SQL of codes and passcode verifiers."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Final

from services.applications.store.peppered import Sealed
from services.chassis.postgres import Database
from services.chassis.postgres_transaction import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Price of one Argon2id run: memory in KiB, passes over it."""

    memory_kib: int
    passes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Verifier:
    """What a passcode is checked against."""

    salt: bytes
    cost: Cost
    sealed: Sealed


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """What a code leads to. `drafted`: a draft that has not expired; `filed`: an application."""

    application_id: uuid.UUID
    verifier: Verifier
    credential_epoch: int
    drafted: bool
    filed: bool


INSERT_CODE: Final = """
INSERT INTO application_id_codes (application_id, code)
VALUES ($1, $2)                         -- uuid, code
    ON CONFLICT (code) DO NOTHING
"""


async def insert_code(tx: Transaction, application_id: uuid.UUID, code: str) -> bool:
    """Give an application id its code; False when the code is taken."""
    return await tx.execute(INSERT_CODE, application_id, code) == "INSERT 0 1"


INSERT_VERIFIER: Final = """
INSERT INTO passcode_hashes (application_id, salt, memory_kib, passes, verifier, pepper_kid)
VALUES ($1, $2, $3, $4, $5, $6)
RETURNING credential_epoch
"""


async def insert_verifier(tx: Transaction, application_id: uuid.UUID, verifier: Verifier) -> int:
    """Store the verifier of an application id's passcode; returns the epoch of the credentials."""
    return await tx.fetchval(
        INSERT_VERIFIER,
        application_id,
        verifier.salt,
        verifier.cost.memory_kib,
        verifier.cost.passes,
        verifier.sealed.ciphertext,
        verifier.sealed.kid,
    )


DELETE_CODE: Final = """
DELETE FROM application_id_codes
 WHERE application_id = $1              -- uuid
"""
DELETE_VERIFIER: Final = """
DELETE FROM passcode_hashes
 WHERE application_id = $1              -- uuid
"""


async def delete(tx: Transaction, application_id: uuid.UUID) -> None:
    """Delete the code and the verifier of a draft, whose row the caller has locked. Those of an application stay."""
    await tx.execute(DELETE_CODE, application_id)
    await tx.execute(DELETE_VERIFIER, application_id)


FIND_LOGIN: Final = """
SELECT c.application_id, h.salt, h.memory_kib, h.passes, h.verifier, h.pepper_kid, h.credential_epoch,
       EXISTS (
         SELECT
           FROM application_drafts d
          WHERE d.application_id = c.application_id
            AND d.expires_at > clock_timestamp()
       ) AS drafted,
       EXISTS (SELECT FROM applications a WHERE a.application_id = c.application_id) AS filed
  FROM application_id_codes c
  JOIN passcode_hashes h USING (application_id)
 WHERE c.code = $1
"""


async def find_login(db: Database, code: str) -> Login | None:
    """Read what a code leads to, in one statement for every code."""
    row = await db.fetchrow(FIND_LOGIN, code)
    if row is None:
        return None
    return Login(
        application_id=row["application_id"],
        verifier=Verifier(
            salt=row["salt"],
            cost=Cost(memory_kib=row["memory_kib"], passes=row["passes"]),
            sealed=Sealed(kid=row["pepper_kid"], ciphertext=row["verifier"]),
        ),
        credential_epoch=row["credential_epoch"],
        drafted=row["drafted"],
        filed=row["filed"],
    )
