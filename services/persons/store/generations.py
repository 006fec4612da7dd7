"""finalize_operation_generations: the attempts of operations, each one row, never deleted.

Lock order of a transaction: gate of the generation (advisory.py), this row, then the rest.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from asyncpg import Record

from services.chassis.postgres import Database, Transaction
from services.persons.store.advisory import LockClass, lock_key


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """Names one attempt of one operation."""

    operation_id: uuid.UUID
    generation: int

    @property
    def facts(self) -> dict[str, str | int]:
        """What names the attempt in the log."""
        return {"operation_id": str(self.operation_id), "generation": self.generation}

    def gate(self) -> int:
        """Return the advisory key that steps share and that release and cancel take alone."""
        return lock_key(LockClass.GENERATION, self.operation_id.bytes, self.generation.to_bytes(8, "big"))


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRow:
    """What is pinned for an attempt; digest and basis_date are None for one cancelled before it was registered."""

    state: str
    digest: bytes | None
    basis_date: date | None


INSERT_ACTIVE: Final = """
INSERT INTO finalize_operation_generations (operation_id, generation, state, digest, basis_date)
VALUES ($1, $2, 'active', $3, $4)
ON CONFLICT (operation_id, generation) DO NOTHING
"""


async def insert_active(tx: Transaction, attempt: Attempt, digest: bytes, basis_date: date) -> None:
    """Open an attempt unless it has a row; waits for a concurrent insert to end."""
    await tx.execute(INSERT_ACTIVE, attempt.operation_id, attempt.generation, digest, basis_date)


INSERT_CANCELLED: Final = """
INSERT INTO finalize_operation_generations (operation_id, generation, state)
VALUES ($1, $2, 'cancelled')
ON CONFLICT (operation_id, generation) DO NOTHING
"""


async def insert_cancelled(tx: Transaction, attempt: Attempt) -> bool:
    """Write the tombstone of an attempt that has no row. Returns whether it had none."""
    return await tx.execute(INSERT_CANCELLED, attempt.operation_id, attempt.generation) == "INSERT 0 1"


READ_SHARED: Final = """
SELECT state, digest, basis_date
  FROM finalize_operation_generations
 WHERE operation_id = $1                -- uuid
   AND generation = $2                  -- bigint
   FOR SHARE                            -- the state stays what was read until this write commits (FIN-04)
"""


async def read_shared(tx: Transaction, attempt: Attempt) -> GenerationRow | None:
    """Read an attempt and keep its state from changing until the transaction ends."""
    return _row(await tx.fetchrow(READ_SHARED, attempt.operation_id, attempt.generation))


READ_LOCKED: Final = """
SELECT state, digest, basis_date
  FROM finalize_operation_generations
 WHERE operation_id = $1
   AND generation = $2
   FOR NO KEY UPDATE                    -- its state is about to change
"""


async def read_locked(tx: Transaction, attempt: Attempt) -> GenerationRow | None:
    """Read an attempt to change it; readers of READ_SHARED have ended, or wait."""
    return _row(await tx.fetchrow(READ_LOCKED, attempt.operation_id, attempt.generation))


SET_STATE: Final = """
UPDATE finalize_operation_generations
   SET state = $3,
       changed_at = clock_timestamp()
 WHERE operation_id = $1
   AND generation = $2
"""


async def set_state(tx: Transaction, attempt: Attempt, state: str) -> None:
    """Change the state; the database refuses a transition that is not in its table."""
    await tx.execute(SET_STATE, attempt.operation_id, attempt.generation, state)


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationCounts:
    """An attempt with what belongs to it."""

    generation: int
    state: str
    basis_date: date | None
    changed_at: datetime
    receipts: int
    held_events: int
    quarantined: int


READ_COUNTS: Final = """
SELECT g.generation,
       g.state,
       g.basis_date,
       g.changed_at,
       (SELECT count(*) FROM finalize_receipts AS r
         WHERE r.operation_id = g.operation_id AND r.generation = g.generation) AS receipts,
       (SELECT count(*) FROM event_outbox AS e
         WHERE e.hold_operation_id = g.operation_id AND e.hold_generation = g.generation
           AND e.dropped_at IS NULL) AS held_events,
       (SELECT count(*) FROM quarantined_entities AS q
         WHERE q.operation_id = g.operation_id AND q.generation = g.generation) AS quarantined
  FROM finalize_operation_generations AS g
 WHERE g.operation_id = $1              -- uuid
 ORDER BY g.generation
"""


async def read_counts(db: Database, operation_id: uuid.UUID) -> list[GenerationCounts]:
    """Read every attempt of an operation, oldest first, in one statement."""
    return [GenerationCounts(**dict(row)) for row in await db.fetch(READ_COUNTS, operation_id)]


def _row(record: Record | None) -> GenerationRow | None:
    return None if record is None else GenerationRow(**dict(record))
