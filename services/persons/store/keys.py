"""redaction_keys: the wrapped data key of each version, until it is shredded."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from services.chassis.envelope import DataKey
from services.chassis.postgres import Transaction

INSERT_KEYS: Final = """
WITH clock AS MATERIALIZED (
  SELECT clock_timestamp() AS at
), minted AS (
  INSERT INTO redaction_keys (dek_id, kid, wrapped_key, minted_at)
  SELECT new.dek_id, new.kid, new.wrapped_key, clock.at
    FROM unnest($1::uuid[], $2::text[], $3::bytea[]) AS new (dek_id, kid, wrapped_key), clock
)
SELECT at FROM clock
"""


async def insert(tx: Transaction, data_keys: Sequence[DataKey]) -> datetime:
    """Store new data keys, wrapped. Returns the instant at which that was done: the recorded time of their versions.

    The entities' locks must be held: the instant then follows whatever was recorded of them before (PER-02).
    """
    return await tx.fetchval(
        INSERT_KEYS,
        [data_key.dek_id for data_key in data_keys],
        [data_key.kid for data_key in data_keys],
        [data_key.wrapped for data_key in data_keys],
    )


SHRED: Final = """
UPDATE redaction_keys
   SET wrapped_key = NULL,
       shredded_at = clock_timestamp()
 WHERE dek_id = $1                      -- uuid
   AND shredded_at IS NULL
"""


async def shred_with_dek_id(tx: Transaction, dek_id: uuid.UUID) -> bool:
    """Destroy exactly one data key, and with it one version's data, for good. Returns False where it was done before.

    There is no shred by subject: it would match a later correction's key as well (PER-07).
    """
    return await tx.execute(SHRED, dek_id) == "UPDATE 1"
