"""SQL of what is encrypted under the pepper: passcode verifiers, and the server's key shares of drafts.

Both are encrypted again when the pepper changes, without the passcode and without a login (ADR-7).
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from services.chassis.postgres_transaction import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """Bytes encrypted under a key that is not in the database; `kid` says which."""

    kid: str
    ciphertext: bytes


LOCK_VERIFIERS: Final = """
SELECT application_id, verifier, pepper_kid
  FROM passcode_hashes
 WHERE pepper_kid = ANY ($1)            -- text[]
 LIMIT $2
   FOR UPDATE SKIP LOCKED               -- another process may be at the same work
"""


async def lock_verifiers(tx: Transaction, kids: Sequence[str], limit: int) -> list[tuple[uuid.UUID, Sealed]]:
    """Lock some verifiers that are encrypted under one of `kids`."""
    rows = await tx.fetch(LOCK_VERIFIERS, kids, limit)
    return [(row["application_id"], Sealed(kid=row["pepper_kid"], ciphertext=row["verifier"])) for row in rows]


REPLACE_VERIFIERS: Final = """
UPDATE passcode_hashes AS h
   SET verifier = new.verifier,
       pepper_kid = new.kid
  FROM unnest($1::uuid[], $2::bytea[], $3::text[]) AS new (application_id, verifier, kid)
 WHERE h.application_id = new.application_id
"""


async def replace_verifiers(tx: Transaction, sealed: Sequence[tuple[uuid.UUID, Sealed]]) -> None:
    """Store verifiers under their new encryption."""
    await tx.execute(
        REPLACE_VERIFIERS,
        [application_id for application_id, _ in sealed],
        [each.ciphertext for _, each in sealed],
        [each.kid for _, each in sealed],
    )


LOCK_SHARES: Final = """
SELECT application_id, server_share, share_kid
  FROM application_drafts
 WHERE share_kid = ANY ($1)             -- text[]
 LIMIT $2
   FOR UPDATE SKIP LOCKED               -- a draft that is being saved has its turn in the next pass
"""


async def lock_shares(tx: Transaction, kids: Sequence[str], limit: int) -> list[tuple[uuid.UUID, Sealed]]:
    """Lock some drafts whose key share is encrypted under one of `kids`."""
    rows = await tx.fetch(LOCK_SHARES, kids, limit)
    return [(row["application_id"], Sealed(kid=row["share_kid"], ciphertext=row["server_share"])) for row in rows]


REPLACE_SHARES: Final = """
UPDATE application_drafts AS d
   SET server_share = new.share,
       share_kid = new.kid
  FROM unnest($1::uuid[], $2::bytea[], $3::text[]) AS new (application_id, share, kid)
 WHERE d.application_id = new.application_id
"""


async def replace_shares(tx: Transaction, sealed: Sequence[tuple[uuid.UUID, Sealed]]) -> None:
    """Store key shares under their new encryption."""
    await tx.execute(
        REPLACE_SHARES,
        [application_id for application_id, _ in sealed],
        [each.ciphertext for _, each in sealed],
        [each.kid for _, each in sealed],
    )
