"""person_versions, household_versions, member_versions, income_versions: appended to, superseded, never changed."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime
from typing import Final

from asyncpg import Record

from services.chassis.postgres import Transaction
from services.persons.store.generations import Attempt
from services.persons.store.kinds import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class NewVersion:
    """A version to record: holds on [valid_from, valid_until), open where valid_until is None."""

    kind: Kind
    version_id: uuid.UUID
    entity_id: uuid.UUID
    valid_from: date
    valid_until: date | None
    dek_id: uuid.UUID
    payload: bytes
    step_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredVersion:
    """A version as it is stored. wrapped_key is None, and shredded_at set, where its data was shredded."""

    kind: Kind
    version_id: uuid.UUID
    valid_from: date
    valid_until: date | None
    recorded_at: datetime
    payload: bytes
    dek_id: uuid.UUID
    kid: str
    wrapped_key: bytes | None
    shredded_at: datetime | None


def stored_version(row: Record) -> StoredVersion | None:
    """Read the columns that hold a version; None where an outer join found none."""
    if row["version_id"] is None:
        return None
    columns = {field.name: row[field.name] for field in fields(StoredVersion) if field.name != "kind"}
    return StoredVersion(kind=Kind(row["kind"]), **columns)


SUPERSEDE: Final = """
WITH superseded_persons AS (
  UPDATE person_versions SET superseded_at = $2
   WHERE version_id = ANY ($1::uuid[]) AND superseded_at IS NULL
), superseded_households AS (
  UPDATE household_versions SET superseded_at = $2
   WHERE version_id = ANY ($1::uuid[]) AND superseded_at IS NULL
), superseded_members AS (
  UPDATE member_versions SET superseded_at = $2
   WHERE version_id = ANY ($1::uuid[]) AND superseded_at IS NULL
)
UPDATE income_versions SET superseded_at = $2
 WHERE version_id = ANY ($1::uuid[]) AND superseded_at IS NULL
"""


async def supersede(tx: Transaction, version_ids: Sequence[uuid.UUID], recorded_at: datetime) -> None:
    """Take versions of any kind off the record. Needs: the entities' locks. No versions, no statement."""
    if version_ids:
        await tx.execute(SUPERSEDE, version_ids, recorded_at)


INSERT_VERSIONS: Final = """
WITH new AS MATERIALIZED (
  SELECT kind, version_id, entity_id, daterange(valid_from, valid_until) AS valid, dek_id, payload, step_key
    FROM unnest($1::text[], $2::uuid[], $3::uuid[], $4::date[], $5::date[], $6::uuid[], $7::bytea[], $8::text[])
         AS new (kind, version_id, entity_id, valid_from, valid_until, dek_id, payload, step_key)
), new_persons AS (
  INSERT INTO person_versions
         (version_id, person_id, valid, recorded_at, dek_id, payload, operation_id, generation, step_key)
  SELECT version_id, entity_id, valid, $9, dek_id, payload, $10, $11, step_key FROM new WHERE kind = 'person'
), new_households AS (
  INSERT INTO household_versions
         (version_id, household_id, valid, recorded_at, dek_id, payload, operation_id, generation, step_key)
  SELECT version_id, entity_id, valid, $9, dek_id, payload, $10, $11, step_key FROM new WHERE kind = 'household'
), new_members AS (
  INSERT INTO member_versions
         (version_id, fact_id, valid, recorded_at, dek_id, payload, operation_id, generation, step_key)
  SELECT version_id, entity_id, valid, $9, dek_id, payload, $10, $11, step_key FROM new WHERE kind = 'member'
), new_incomes AS (
  INSERT INTO income_versions
         (version_id, fact_id, valid, recorded_at, dek_id, payload, operation_id, generation, step_key)
  SELECT version_id, entity_id, valid, $9, dek_id, payload, $10, $11, step_key FROM new WHERE kind = 'income'
)
SELECT count(*) FROM new
"""


async def insert(tx: Transaction, attempt: Attempt, versions: Sequence[NewVersion], recorded_at: datetime) -> None:
    """Record versions of any kind, tagged with the attempt, in one statement.

    Needs: their entities and data keys in earlier statements, and those they take the place of superseded.
    """
    await tx.execute(
        INSERT_VERSIONS,
        [version.kind for version in versions],
        [version.version_id for version in versions],
        [version.entity_id for version in versions],
        [version.valid_from for version in versions],
        [version.valid_until for version in versions],
        [version.dek_id for version in versions],
        [version.payload for version in versions],
        [version.step_key for version in versions],
        recorded_at,
        attempt.operation_id,
        attempt.generation,
    )
