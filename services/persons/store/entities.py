"""persons, households, members, incomes: the stable identities, and what is on record of those a write refers to."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from asyncpg import Record

from services.chassis.postgres import Transaction
from services.persons.store.generations import Attempt
from services.persons.store.kinds import Kind
from services.persons.store.versions import StoredVersion, stored_version


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEntity:
    """An identity to bring in. household_id: of a member. person_id: of a member or an income."""

    kind: Kind
    entity_id: uuid.UUID
    household_id: uuid.UUID | None = None
    person_id: uuid.UUID | None = None


INSERT_ENTITIES: Final = """
WITH new AS MATERIALIZED (
  SELECT kind, entity_id, household_id, person_id, nth
    FROM unnest($1::text[], $2::uuid[], $3::uuid[], $4::uuid[])
         WITH ORDINALITY AS new (kind, entity_id, household_id, person_id, nth)
), new_persons AS (
  INSERT INTO persons (person_id, operation_id, generation, created_at)
  SELECT entity_id, $5, $6, $7 FROM new WHERE kind = 'person'
), new_households AS (
  INSERT INTO households (household_id, operation_id, generation, created_at)
  SELECT entity_id, $5, $6, $7 FROM new WHERE kind = 'household'
), new_members AS (
  INSERT INTO members (fact_id, household_id, person_id, operation_id, generation, created_at)
  SELECT entity_id, household_id, person_id, $5, $6, $7 FROM new WHERE kind = 'member' ORDER BY nth
), new_incomes AS (
  INSERT INTO incomes (fact_id, person_id, operation_id, generation, created_at)
  SELECT entity_id, person_id, $5, $6, $7 FROM new WHERE kind = 'income' ORDER BY nth
)
SELECT count(*) FROM new
"""


async def insert(tx: Transaction, attempt: Attempt, entities: Sequence[NewEntity], recorded_at: datetime) -> None:
    """Bring in identities, unsealed and tagged with the attempt; facts keep their order. No entities, no statement."""
    if entities:
        await tx.execute(
            INSERT_ENTITIES,
            [entity.kind for entity in entities],
            [entity.entity_id for entity in entities],
            [entity.household_id for entity in entities],
            [entity.person_id for entity in entities],
            attempt.operation_id,
            attempt.generation,
            recorded_at,
        )


SEAL: Final = """
WITH clock AS MATERIALIZED (
  SELECT clock_timestamp() AS at
), generation AS (
  UPDATE finalize_operation_generations SET state = 'sealed', changed_at = clock.at FROM clock
   WHERE operation_id = $1 AND generation = $2
), sealed_persons AS (
  UPDATE persons SET sealed_at = clock.at FROM clock
   WHERE operation_id = $1 AND generation = $2 AND sealed_at IS NULL
), sealed_households AS (
  UPDATE households SET sealed_at = clock.at FROM clock
   WHERE operation_id = $1 AND generation = $2 AND sealed_at IS NULL
), sealed_members AS (
  UPDATE members SET sealed_at = clock.at FROM clock
   WHERE operation_id = $1 AND generation = $2 AND sealed_at IS NULL
)
UPDATE incomes SET sealed_at = clock.at FROM clock
 WHERE operation_id = $1 AND generation = $2 AND sealed_at IS NULL
"""


async def seal(tx: Transaction, attempt: Attempt) -> None:
    """Seal an attempt and everything it brought in. Needs: its gate closed, its row locked."""
    await tx.execute(SEAL, attempt.operation_id, attempt.generation)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """An entity on record, with one of its versions on record that hold after a day, if any.

    household_id, person_id: of a fact. last_recorded_at: the latest recorded time of anything said of the entity.
    written_by: the attempt that wrote the version, if one did.
    """

    kind: Kind
    entity_id: uuid.UUID
    household_id: uuid.UUID | None
    person_id: uuid.UUID | None
    last_recorded_at: datetime | None
    version: StoredVersion | None
    written_by: Attempt | None


READ_REFERENCES: Final = """
WITH reference AS (
  SELECT 'person' AS kind, root.person_id AS entity_id, NULL::uuid AS household_id, NULL::uuid AS person_id,
         version.version_id, version.valid, version.recorded_at, version.payload, version.dek_id,
         version.operation_id, version.generation,
         (SELECT max(coalesce(superseded_at, recorded_at)) FROM person_versions
           WHERE person_id = root.person_id) AS last_recorded_at
    FROM persons AS root
    LEFT JOIN person_versions AS version
           ON version.person_id = root.person_id
          AND version.superseded_at IS NULL
          AND coalesce(upper(version.valid) > $2, true)
   WHERE root.person_id = ANY ($1::uuid[])
   UNION ALL
  SELECT 'household', root.household_id, NULL, NULL,
         version.version_id, version.valid, version.recorded_at, version.payload, version.dek_id,
         version.operation_id, version.generation,
         (SELECT max(coalesce(superseded_at, recorded_at)) FROM household_versions
           WHERE household_id = root.household_id)
    FROM households AS root
    LEFT JOIN household_versions AS version
           ON version.household_id = root.household_id
          AND version.superseded_at IS NULL
          AND coalesce(upper(version.valid) > $2, true)
   WHERE root.household_id = ANY ($1::uuid[])
   UNION ALL
  SELECT 'member', root.fact_id, root.household_id, root.person_id,
         version.version_id, version.valid, version.recorded_at, version.payload, version.dek_id,
         version.operation_id, version.generation,
         (SELECT max(coalesce(superseded_at, recorded_at)) FROM member_versions
           WHERE fact_id = root.fact_id)
    FROM members AS root
    LEFT JOIN member_versions AS version
           ON version.fact_id = root.fact_id
          AND version.superseded_at IS NULL
          AND coalesce(upper(version.valid) > $2, true)
   WHERE root.fact_id = ANY ($1::uuid[])
   UNION ALL
  SELECT 'income', root.fact_id, NULL, root.person_id,
         version.version_id, version.valid, version.recorded_at, version.payload, version.dek_id,
         version.operation_id, version.generation,
         (SELECT max(coalesce(superseded_at, recorded_at)) FROM income_versions
           WHERE fact_id = root.fact_id)
    FROM incomes AS root
    LEFT JOIN income_versions AS version
           ON version.fact_id = root.fact_id
          AND version.superseded_at IS NULL
          AND coalesce(upper(version.valid) > $2, true)
   WHERE root.fact_id = ANY ($1::uuid[])
)
SELECT reference.kind, reference.entity_id, reference.household_id, reference.person_id, reference.last_recorded_at,
       reference.version_id, lower(reference.valid) AS valid_from, upper(reference.valid) AS valid_until,
       reference.recorded_at, reference.payload, reference.operation_id, reference.generation,
       reference.dek_id, key.kid, key.wrapped_key, key.shredded_at
  FROM reference
  LEFT JOIN redaction_keys AS key ON key.dek_id = reference.dek_id
"""


async def read_references(tx: Transaction, entity_ids: Collection[uuid.UUID], after: date) -> list[Reference]:
    """Read entities of any kind with their versions on record that hold on `after` or later; unknown ids are left out.

    Needs: the lock of each entity, taken before.
    """
    return [_reference(row) for row in await tx.fetch(READ_REFERENCES, list(entity_ids), after)]


def _reference(row: Record) -> Reference:
    tagged = row["operation_id"] is not None
    return Reference(
        kind=Kind(row["kind"]),
        entity_id=row["entity_id"],
        household_id=row["household_id"],
        person_id=row["person_id"],
        last_recorded_at=row["last_recorded_at"],
        version=stored_version(row),
        written_by=Attempt(operation_id=row["operation_id"], generation=row["generation"]) if tagged else None,
    )
