"""Bitemporal reads: what held on a day, as known at an instant. Each is one statement, so one snapshot.

An instant of NULL asks for what is on record now. holds_on and on_record are SQL functions of the schema, written so
that PostgreSQL inlines them and finds the versions of an entity by its index.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from asyncpg import Record

from services.chassis.postgres import Database
from services.persons.store.kinds import Kind
from services.persons.store.versions import StoredVersion, stored_version


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One answer: an entity with the version that holds, if any.

    entity_id: the id asked for, or a fact's. person_id: of a fact. known: the entity was on record. nth: place of the
    person or household in the request, from 1. read_at: the database's clock.
    """

    kind: Kind
    nth: int
    entity_id: uuid.UUID
    person_id: uuid.UUID | None
    known: bool
    version: StoredVersion | None
    read_at: datetime


READ_PERSONS: Final = """
SELECT 'person' AS kind,
       asked.nth,
       asked.person_id AS entity_id,
       NULL::uuid AS person_id,
       root.person_id IS NOT NULL AS known,
       version.version_id,
       lower(version.valid) AS valid_from,
       upper(version.valid) AS valid_until,
       version.recorded_at,
       version.payload,
       key.dek_id,
       key.kid,
       key.wrapped_key,
       key.shredded_at,
       clock_timestamp() AS read_at
  FROM unnest($1::uuid[]) WITH ORDINALITY AS asked (person_id, nth)
  LEFT JOIN persons AS root
         ON root.person_id = asked.person_id
        AND root.created_at <= coalesce($3::timestamptz, 'infinity')
  LEFT JOIN person_versions AS version
         ON version.person_id = root.person_id
        AND holds_on(version.valid, $2::date)
        AND on_record(version.recorded_at, version.superseded_at, $3::timestamptz)
  LEFT JOIN redaction_keys AS key ON key.dek_id = version.dek_id
 ORDER BY asked.nth
"""


async def read_persons(
    db: Database, person_ids: Sequence[uuid.UUID], as_of: date, known_at: datetime | None
) -> list[Found]:
    """Read people, one answer per id, in the order of the ids."""
    return [_found(row) for row in await db.fetch(READ_PERSONS, person_ids, as_of, known_at)]


READ_HOUSEHOLDS: Final = """
WITH household AS MATERIALIZED (
  SELECT asked.nth, asked.household_id, root.household_id IS NOT NULL AS known,
         version.version_id, version.valid, version.recorded_at, version.payload, version.dek_id
    FROM unnest($1::uuid[]) WITH ORDINALITY AS asked (household_id, nth)
    LEFT JOIN households AS root
           ON root.household_id = asked.household_id
          AND root.created_at <= coalesce($3::timestamptz, 'infinity')
    LEFT JOIN household_versions AS version
           ON version.household_id = root.household_id
          AND holds_on(version.valid, $2::date)
          AND on_record(version.recorded_at, version.superseded_at, $3::timestamptz)
), member AS MATERIALIZED (
  SELECT household.nth, root.position, root.fact_id, root.person_id,
         version.version_id, version.valid, version.recorded_at, version.payload, version.dek_id
    FROM household
    JOIN members AS root ON root.household_id = household.household_id
    JOIN member_versions AS version
      ON version.fact_id = root.fact_id
     AND holds_on(version.valid, $2::date)
     AND on_record(version.recorded_at, version.superseded_at, $3::timestamptz)
   WHERE household.version_id IS NOT NULL
), earner AS (
  SELECT DISTINCT nth, person_id FROM member
), income AS (
  SELECT earner.nth, root.position, root.fact_id, root.person_id,
         version.version_id, version.valid, version.recorded_at, version.payload, version.dek_id
    FROM earner
    JOIN incomes AS root ON root.person_id = earner.person_id
    JOIN income_versions AS version
      ON version.fact_id = root.fact_id
     AND holds_on(version.valid, $2::date)
     AND on_record(version.recorded_at, version.superseded_at, $3::timestamptz)
), answer AS (
  SELECT 1 AS part, 'household' AS kind, nth, 0::bigint AS position, household_id AS entity_id, NULL::uuid AS person_id,
         known, version_id, valid, recorded_at, payload, dek_id
    FROM household
   UNION ALL
  SELECT 2, 'member', nth, position, fact_id, person_id, true, version_id, valid, recorded_at, payload, dek_id
    FROM member
   UNION ALL
  SELECT 3, 'income', nth, position, fact_id, person_id, true, version_id, valid, recorded_at, payload, dek_id
    FROM income
)
SELECT answer.kind,
       answer.nth,
       answer.entity_id,
       answer.person_id,
       answer.known,
       answer.version_id,
       lower(answer.valid) AS valid_from,
       upper(answer.valid) AS valid_until,
       answer.recorded_at,
       answer.payload,
       key.dek_id,
       key.kid,
       key.wrapped_key,
       key.shredded_at,
       clock_timestamp() AS read_at
  FROM answer
  LEFT JOIN redaction_keys AS key ON key.dek_id = answer.dek_id
 ORDER BY answer.nth, answer.part, answer.position
"""


async def read_households(
    db: Database, household_ids: Sequence[uuid.UUID], as_of: date, known_at: datetime | None
) -> list[Found]:
    """Read households, each followed by its members and then their incomes, in the order in which they were recorded.

    One answer per id, in the order of the ids; members and incomes only where they and the household hold that day.
    """
    return [_found(row) for row in await db.fetch(READ_HOUSEHOLDS, household_ids, as_of, known_at)]


def _found(row: Record) -> Found:
    return Found(
        kind=Kind(row["kind"]),
        nth=row["nth"],
        entity_id=row["entity_id"],
        person_id=row["person_id"],
        known=row["known"],
        version=stored_version(row),
        read_at=row["read_at"],
    )
