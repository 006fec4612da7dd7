"""finalize_operations and finalize_attempts: where the submit of a draft stands, and what each attempt pinned.

Every write names status, generation and holder in its WHERE and reports whether a row was changed: that is the fence.
Lease times are this database's clock_timestamp() and decide liveness only. Lock order: draft row, operation row.
Enum columns hold the contract's value names without their prefix, in lower case.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from services.chassis.postgres import Database, Lane, Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Pins:
    """What an attempt pins when it begins."""

    received_at: datetime
    basis_date: date
    filing_date: date
    digest: bytes
    digest_version: int
    digest_kid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An operation with the pins of its latest attempt. leased: a holder's lease had not run out when it was read."""

    operation_id: uuid.UUID
    status: str
    generation: int
    holder: uuid.UUID | None
    leased: bool
    household_id: uuid.UUID | None
    pins: Pins


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """What a write of an attempt must match: a stolen, undone or finished attempt matches nothing."""

    operation_id: uuid.UUID
    generation: int
    holder: uuid.UUID

    @property
    def facts(self) -> dict[str, str | int]:
        """What names the attempt in the log."""
        return {"operation_id": str(self.operation_id), "generation": self.generation}


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a claim needs to know of a locked draft. now: the database's clock when it was read."""

    revision: int
    expired: bool
    now: datetime


_OPERATION: Final = """
SELECT o.operation_id,
       o.status,
       o.generation,
       o.holder,
       coalesce(o.lease_expires_at > clock_timestamp(), false) AS leased,
       o.household_id,
       a.received_at,
       a.basis_date,
       a.filing_date,
       a.digest,
       a.digest_version,
       a.digest_kid
  FROM finalize_operations AS o
  JOIN finalize_attempts AS a ON a.operation_id = o.operation_id AND a.generation = o.generation
 WHERE o.operation_id = $1              -- uuid
"""

COMPLETED: Final = f"""{_OPERATION}
   AND o.status = 'completed'
"""


async def completed(db: Database, operation_id: uuid.UUID) -> Operation | None:
    """Read a completed operation in one round trip; None where it is not completed, or was never begun."""
    row = await db.fetchrow(COMPLETED, operation_id)
    return _operation(row) if row else None


LOCK_DRAFT: Final = """
SELECT revision, expires_at <= clock_timestamp() AS expired, clock_timestamp() AS now
  FROM application_drafts
 WHERE application_id = $1              -- uuid
   FOR UPDATE                           -- against saves, the reaper and other submits of the same draft
"""


async def lock_draft(tx: Transaction, application_id: uuid.UUID) -> Draft | None:
    """Lock a draft until the end of the transaction; None where there is none."""
    row = await tx.fetchrow(LOCK_DRAFT, application_id)
    return Draft(revision=row["revision"], expired=row["expired"], now=row["now"]) if row else None


LOCK: Final = f"""{_OPERATION}
   FOR UPDATE OF o                      -- the branch taken must still hold when it commits
"""


async def lock(tx: Transaction, operation_id: uuid.UUID) -> Operation | None:
    """Lock an operation until the end of the transaction; None where no submit was begun."""
    row = await tx.fetchrow(LOCK, operation_id)
    return _operation(row) if row else None


BEGIN_FIRST: Final = """
WITH operation AS (
  INSERT INTO finalize_operations (operation_id, application_id, kind, status, generation, holder, lease_expires_at)
  VALUES ($1, $2, $3, 'in_progress', 1, $4, clock_timestamp() + make_interval(secs => $5))
  RETURNING operation_id, generation
)
INSERT INTO finalize_attempts
       (operation_id, generation, received_at, basis_date, filing_date, digest, digest_version, digest_kid)
SELECT operation_id, generation, $6, $7, $8, $9, $10, $11 FROM operation
"""


async def begin_first(
    tx: Transaction, fence: Fence, application_id: uuid.UUID, kind: str, lease_seconds: float, pins: Pins
) -> None:
    """Begin an operation with its first attempt. Needs: the draft's lock, and that there is no operation."""
    await tx.execute(
        BEGIN_FIRST, fence.operation_id, application_id, kind, fence.holder, lease_seconds, *_pin_values(pins)
    )


BEGIN_NEXT: Final = """
WITH operation AS (
  UPDATE finalize_operations
     SET status = 'in_progress',
         generation = $2,
         holder = $3,
         lease_expires_at = clock_timestamp() + make_interval(secs => $4)
   WHERE operation_id = $1
     AND status = 'aborted'
     AND generation = $2 - 1
  RETURNING operation_id, generation
)
INSERT INTO finalize_attempts
       (operation_id, generation, received_at, basis_date, filing_date, digest, digest_version, digest_kid)
SELECT operation_id, generation, $5, $6, $7, $8, $9, $10 FROM operation
"""


async def begin_next(tx: Transaction, fence: Fence, lease_seconds: float, pins: Pins) -> bool:
    """Begin the next attempt of an aborted operation: a new filing with pins of its own."""
    tag = await tx.execute(
        BEGIN_NEXT, fence.operation_id, fence.generation, fence.holder, lease_seconds, *_pin_values(pins)
    )
    return _changed(tag)


STEAL: Final = """
UPDATE finalize_operations
   SET holder = $3, lease_expires_at = clock_timestamp() + make_interval(secs => $4)
 WHERE operation_id = $1
   AND generation = $2
   AND status IN ('in_progress', 'compensating')
   AND lease_expires_at <= clock_timestamp()
"""


async def steal(tx: Transaction, fence: Fence, lease_seconds: float) -> bool:
    """Take over an attempt whose lease has run out: its former holder matches no fence from now on."""
    return _changed(await tx.execute(STEAL, fence.operation_id, fence.generation, fence.holder, lease_seconds))


HEARTBEAT: Final = """
UPDATE finalize_operations
   SET lease_expires_at = clock_timestamp() + make_interval(secs => $4)
 WHERE operation_id = $1                -- uuid
   AND generation = $2                  -- bigint
   AND holder = $3                      -- uuid
   AND status IN ('in_progress', 'compensating')
RETURNING true
"""


async def heartbeat(db: Database, fence: Fence, lease_seconds: float) -> bool:
    """Prolong the lease, as one statement of its own in the control lane; False where the attempt is lost."""
    return bool(await db.fetchval(HEARTBEAT, *_fence_values(fence), lease_seconds, lane=Lane.CONTROL))


async def give_back(db: Database, fence: Fence) -> bool:
    """End the lease now, so that a repeated submit can go on at once; False where the attempt is lost."""
    return bool(await db.fetchval(HEARTBEAT, *_fence_values(fence), 0.0, lane=Lane.CONTROL))


DELETE_DRAFT: Final = """
DELETE FROM application_drafts
 WHERE application_id = $1              -- uuid
"""


async def delete_draft(tx: Transaction, application_id: uuid.UUID) -> bool:
    """Delete a draft; False where it was gone already."""
    return _changed(await tx.execute(DELETE_DRAFT, application_id))


COMPLETE: Final = """
WITH operation AS (
  UPDATE finalize_operations
     SET status = 'completed',
         household_id = $4,             -- uuid
         completed_at = clock_timestamp(),
         holder = NULL,
         lease_expires_at = NULL
   WHERE operation_id = $1
     AND generation = $2
     AND holder = $3
     AND status = 'in_progress'
  RETURNING operation_id, generation, completed_at
)
UPDATE finalize_attempts AS a
   SET manifest = $5,                   -- text[], text forms of the step keys
       ended_at = o.completed_at,
       outcome = 'completed'
  FROM operation AS o
 WHERE a.operation_id = o.operation_id
   AND a.generation = o.generation
"""


async def complete(tx: Transaction, fence: Fence, household_id: uuid.UUID, manifest: Sequence[str]) -> bool:
    """Complete the operation; False where the attempt is lost, and then nothing of this transaction may commit."""
    return _changed(await tx.execute(COMPLETE, *_fence_values(fence), household_id, list(manifest)))


COMPENSATE: Final = """
WITH operation AS (
  UPDATE finalize_operations
     SET status = 'compensating'
   WHERE operation_id = $1
     AND generation = $2
     AND holder = $3
     AND status = 'in_progress'
  RETURNING operation_id, generation
)
UPDATE finalize_attempts AS a
   SET abort_reason = $4                -- text, name of a reason of the catalogue
  FROM operation AS o
 WHERE a.operation_id = o.operation_id
   AND a.generation = o.generation
"""


async def compensate(tx: Transaction, fence: Fence, reason: str) -> bool:
    """Begin to undo an attempt: the durable intent, before anything is cancelled. False where the attempt is lost."""
    return _changed(await tx.execute(COMPENSATE, *_fence_values(fence), reason))


ABORT: Final = """
WITH operation AS (
  UPDATE finalize_operations
     SET status = 'aborted', holder = NULL, lease_expires_at = NULL
   WHERE operation_id = $1
     AND generation = $2
     AND holder = $3
     AND status = 'compensating'
  RETURNING operation_id, generation
)
UPDATE finalize_attempts AS a
   SET ended_at = clock_timestamp(), outcome = 'aborted'
  FROM operation AS o
 WHERE a.operation_id = o.operation_id
   AND a.generation = o.generation
"""


async def abort(tx: Transaction, fence: Fence) -> bool:
    """End an attempt that was cancelled in the persons service. False where the attempt is lost."""
    return _changed(await tx.execute(ABORT, *_fence_values(fence)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt with the operation's state beside it. outcome: None while it is the latest and has not ended."""

    generation: int
    received_at: datetime
    basis_date: date
    ended_at: datetime | None
    outcome: str | None
    status: str  # of the operation
    released_at: datetime | None
    release_blocked_at: datetime | None


ATTEMPTS: Final = """
SELECT a.generation, a.received_at, a.basis_date, a.ended_at, a.outcome, o.status, o.released_at, o.release_blocked_at
  FROM finalize_attempts AS a
  JOIN finalize_operations AS o ON o.operation_id = a.operation_id
 WHERE a.operation_id = $1              -- uuid
 ORDER BY a.generation
"""


async def attempts(db: Database, operation_id: uuid.UUID) -> list[Attempt]:
    """List the attempts of an operation, oldest first."""
    return [Attempt(**dict(row)) for row in await db.fetch(ATTEMPTS, operation_id)]


def _operation(row: Any) -> Operation:
    return Operation(
        operation_id=row["operation_id"],
        status=row["status"],
        generation=row["generation"],
        holder=row["holder"],
        leased=row["leased"],
        household_id=row["household_id"],
        pins=Pins(
            received_at=row["received_at"],
            basis_date=row["basis_date"],
            filing_date=row["filing_date"],
            digest=row["digest"],
            digest_version=row["digest_version"],
            digest_kid=row["digest_kid"],
        ),
    )


def _pin_values(pins: Pins) -> tuple[object, ...]:
    return (
        pins.received_at,
        pins.basis_date,
        pins.filing_date,
        pins.digest,
        pins.digest_version,
        pins.digest_kid,
    )


def _fence_values(fence: Fence) -> tuple[uuid.UUID, int, uuid.UUID]:
    return (fence.operation_id, fence.generation, fence.holder)


def _changed(tag: str) -> bool:
    """Tell from a command tag such as "UPDATE 1" whether a row was changed."""
    return not tag.endswith(" 0")
