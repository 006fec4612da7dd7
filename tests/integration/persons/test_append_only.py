"""What is recorded stays: neither the service nor the owner of the tables can delete or rewrite it."""

from __future__ import annotations

import asyncpg
import pytest

from services.chassis.postgres import Database
from services.persons.domain.generations import TRANSITIONS
from tests import persons as build
from tests.persons import RunningPersons
from tests.postgres import FreshDatabase

EVIDENCE = (
    "persons",
    "person_versions",
    "households",
    "household_versions",
    "members",
    "member_versions",
    "incomes",
    "income_versions",
    "redaction_keys",
    "finalize_operation_generations",
    "finalize_receipts",
    "quarantined_entities",
)

# By trigger; a plain TRUNCATE of a table that others refer to fails even before.
REFUSALS = (asyncpg.IntegrityConstraintViolationError, asyncpg.FeatureNotSupportedError)

QUARANTINE = """
INSERT INTO quarantined_entities (quarantine_id, kind, stable_id, operation_id, generation, cause)
SELECT gen_random_uuid(), 'person', stable_id, operation_id, generation, 'later_version'
  FROM finalize_receipts
 WHERE step_key = 'person/0'
"""

TABLE = "finalize_operation_generations"
GENERATION = f"""
INSERT INTO {TABLE} (operation_id, generation, state, digest, basis_date)
VALUES (gen_random_uuid(), 1, '{{}}', decode(repeat('00', 32), 'hex'), '2026-01-01')
"""

REWRITES = {
    "person_versions": ["payload = '\\x00'", "valid = '[2000-01-01,)'", "recorded_at = now()", "step_key = 'income/0'"],
    "households": ["created_at = now()", "sealed_at = now()", "sealed_at = NULL"],
    "members": ["household_id = gen_random_uuid()", "person_id = gen_random_uuid()"],
    "incomes": ["person_id = gen_random_uuid()"],
    "finalize_receipts": ["stable_id = gen_random_uuid()", "recorded_at = now()"],
    "finalize_operation_generations": [
        "digest = decode(repeat('00', 32), 'hex')",
        "basis_date = '2000-01-01'",
        "state = 'active'",
        "state = 'cancelled'",
    ],
    "quarantined_entities": ["cause = 'repeated_failure'"],
}


@pytest.fixture
async def filed(service: RunningPersons, fresh: FreshDatabase) -> FreshDatabase:
    """A database with something in every table."""
    await service.record(*build.graph())
    async with fresh.as_owner() as owner:
        await owner.execute(QUARANTINE)
    return fresh


async def test_nothing_can_be_deleted(filed: FreshDatabase, db: Database) -> None:
    """FIN-17: DELETE and TRUNCATE of every table fail: for want of a right, and by trigger."""
    for table in EVIDENCE:
        assert await db.fetchval(f"SELECT count(*) FROM {table}") > 0
        for statement in (f"DELETE FROM {table}", f"TRUNCATE {table}", f"TRUNCATE {table} CASCADE"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await db.fetch(statement)
            async with filed.as_owner() as owner:
                with pytest.raises(REFUSALS):
                    await owner.execute(statement)


async def test_every_table_is_evidence_or_named_here(fresh: FreshDatabase) -> None:
    """FIN-17: a table that a later migration adds is protected, or listed as one that may lose rows."""
    may_lose = {"schema_migrations", "finalize_generation_transitions", "event_outbox", "outbox_shards"}
    async with fresh.as_owner() as owner:
        tables = await owner.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")

    assert {row["tablename"] for row in tables} == {*EVIDENCE, *may_lose}


async def test_nothing_can_be_rewritten(filed: FreshDatabase) -> None:
    """PER-02: not even the owner can change what was recorded, unseal it, or move a generation back."""
    async with filed.as_owner() as owner:
        for table, changes in REWRITES.items():
            for change in changes:
                with pytest.raises(asyncpg.IntegrityConstraintViolationError):
                    await owner.execute(f"UPDATE {table} SET {change}")


async def test_the_service_may_write_only_what_it_has_to(filed: FreshDatabase, db: Database) -> None:
    """MSH-18: of what is recorded the service may set its end, and no other column."""
    for table, changes in REWRITES.items():
        for change in changes:
            if change.startswith(("sealed_at", "state")):
                continue
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await db.fetch(f"UPDATE {table} SET {change}")


async def test_a_superseded_version_stays_superseded(service: RunningPersons, fresh: FreshDatabase) -> None:
    """PER-02: a version leaves the record once: neither a return nor another instant is possible."""
    [person_id] = await service.record(build.person_step())
    await service.record(build.person_step(person_id=person_id))

    async with fresh.as_owner() as owner:
        for value in ("NULL", "clock_timestamp()"):
            with pytest.raises(asyncpg.IntegrityConstraintViolationError):
                await owner.execute(
                    f"UPDATE person_versions SET superseded_at = {value} WHERE superseded_at IS NOT NULL"
                )


async def test_code_and_database_hold_the_same_transitions(db: Database) -> None:
    """FIN-24: which state of a generation may follow which is one table, in the code as in the database."""
    rows = await db.fetch("SELECT from_state, to_state FROM finalize_generation_transitions")

    assert {(row["from_state"], row["to_state"]) for row in rows} == TRANSITIONS


async def test_database_refuses_every_other_transition(fresh: FreshDatabase) -> None:
    """FIN-04: the trigger refuses each pair of states that the table does not hold, for rows old and new."""
    states = ("active", "cancelled", "sealed", "release_blocked")
    async with fresh.as_owner() as owner:
        for before in ("absent", *states):
            for after in states:
                transaction = owner.transaction()
                await transaction.start()
                if before == "absent":
                    change = GENERATION.format(after)
                else:
                    await owner.execute(f"ALTER TABLE {TABLE} DISABLE TRIGGER transition")
                    await owner.execute(GENERATION.format(before))
                    await owner.execute(f"ALTER TABLE {TABLE} ENABLE TRIGGER transition")
                    change = f"UPDATE {TABLE} SET state = '{after}'"
                assert await _passes(owner, change) == ((before, after) in TRANSITIONS), (before, after)
                await transaction.rollback()


async def _passes(owner: asyncpg.Connection, statement: str) -> bool:
    try:
        await owner.execute(statement)
    except asyncpg.IntegrityConstraintViolationError:
        return False
    return True
