"""finalize_receipts: what each step of an attempt left behind, written in the step's own transaction (FIN-01)."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from typing import Final

from services.chassis.postgres import Transaction
from services.persons.store.generations import Attempt

INSERT_RECEIPTS: Final = """
INSERT INTO finalize_receipts (operation_id, generation, step_key, stable_id)
SELECT $1, $2, step_key, stable_id
  FROM unnest($3::text[], $4::uuid[]) AS new (step_key, stable_id)  -- sorted by step_key: equal order, no deadlock
ON CONFLICT (operation_id, generation, step_key) DO NOTHING         -- a replay; waits while its first run is open
RETURNING step_key
"""


async def insert(tx: Transaction, attempt: Attempt, stable_ids: Mapping[str, uuid.UUID]) -> set[str]:
    """Write the receipts of steps that have none. Returns the keys of those steps; the others are replays.

    stable_ids: by the text form of the step key.
    """
    step_keys = sorted(stable_ids)
    ids = [stable_ids[step_key] for step_key in step_keys]
    rows = await tx.fetch(INSERT_RECEIPTS, attempt.operation_id, attempt.generation, step_keys, ids)
    return {row["step_key"] for row in rows}


READ_RECEIPTS: Final = """
SELECT step_key, stable_id
  FROM finalize_receipts
 WHERE operation_id = $1                -- uuid
   AND generation = $2                  -- bigint
   AND step_key = ANY ($3::text[])
"""


async def read(tx: Transaction, attempt: Attempt, step_keys: Collection[str]) -> dict[str, uuid.UUID]:
    """Read the stable ids of steps, by key; a step without a receipt is left out.

    A statement of its own, after the insert: within one statement the receipt of a concurrent winner is not seen.
    """
    rows = await tx.fetch(READ_RECEIPTS, attempt.operation_id, attempt.generation, sorted(step_keys))
    return {row["step_key"]: row["stable_id"] for row in rows}


READ_STEP_KEYS: Final = """
SELECT step_key
  FROM finalize_receipts
 WHERE operation_id = $1
   AND generation = $2
"""


async def read_step_keys(tx: Transaction, attempt: Attempt) -> set[str]:
    """Read the keys of all receipts of an attempt."""
    rows = await tx.fetch(READ_STEP_KEYS, attempt.operation_id, attempt.generation)
    return {row["step_key"] for row in rows}
