"""What a completed or half-undone operation still waits for: the durable intents that the release sweeper works off."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Final

from services.chassis.postgres import Database, Transaction

MARK_RELEASED: Final = """
UPDATE finalize_operations
   SET released_at = clock_timestamp()
 WHERE operation_id = $1                -- uuid
   AND generation = $2                  -- bigint
   AND status = 'completed'
   AND released_at IS NULL
   AND release_blocked_at IS NULL
"""


async def mark_released(tx: Transaction, operation_id: uuid.UUID, generation: int) -> bool:
    """Note that persons released the generation; False where that was noted before."""
    return _changed(await tx.execute(MARK_RELEASED, operation_id, generation))


MARK_RELEASE_BLOCKED: Final = """
UPDATE finalize_operations
   SET release_blocked_at = clock_timestamp()
 WHERE operation_id = $1                -- uuid
   AND generation = $2                  -- bigint
   AND status = 'completed'
   AND released_at IS NULL
   AND release_blocked_at IS NULL
"""


async def mark_release_blocked(tx: Transaction, operation_id: uuid.UUID, generation: int) -> bool:
    """Note that persons refused for good to release the generation; False where that was noted before."""
    return _changed(await tx.execute(MARK_RELEASE_BLOCKED, operation_id, generation))


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreleased:
    """A completed operation whose generation persons has yet to release."""

    operation_id: uuid.UUID
    generation: int
    digest: bytes
    manifest: tuple[str, ...]


UNRELEASED: Final = """
SELECT o.operation_id, o.generation, a.digest, a.manifest
  FROM finalize_operations AS o
  JOIN finalize_attempts AS a ON a.operation_id = o.operation_id AND a.generation = o.generation
 WHERE o.status = 'completed'
   AND o.released_at IS NULL
   AND o.release_blocked_at IS NULL
   AND o.completed_at <= clock_timestamp() - make_interval(secs => $1)  -- the submit itself has had its turn
 ORDER BY o.completed_at
 LIMIT $2
"""


async def unreleased(db: Database, older_than_seconds: float, limit: int) -> list[Unreleased]:
    """List completed operations that wait for their release, oldest first."""
    rows = await db.fetch(UNRELEASED, older_than_seconds, limit)
    return [
        Unreleased(
            operation_id=row["operation_id"],
            generation=row["generation"],
            digest=row["digest"],
            manifest=tuple(row["manifest"]),
        )
        for row in rows
    ]


UNDONE_BY_NOBODY: Final = """
SELECT operation_id, generation
  FROM finalize_operations
 WHERE status = 'compensating'
   AND lease_expires_at <= clock_timestamp()
 ORDER BY lease_expires_at
 LIMIT $1
"""


async def undone_by_nobody(db: Database, limit: int) -> list[tuple[uuid.UUID, int]]:
    """List operations, with their generation, that were being undone by a holder whose lease has run out."""
    return [(row["operation_id"], row["generation"]) for row in await db.fetch(UNDONE_BY_NOBODY, limit)]


def _changed(tag: str) -> bool:
    """Tell from a command tag such as "UPDATE 1" whether a row was changed."""
    return not tag.endswith(" 0")
