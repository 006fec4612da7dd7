"""The states of a finalize operation: one set of pairs, in Python, in SQL and in the contract, kept by a trigger."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import AsyncIterator
from typing import Final

import asyncpg
import pytest

from canopy.applications.v1.finalize_service_pb2 import OperationState
from services.applications.domain.states import ABSENT, TRANSITIONS, Status
from services.chassis.postgres import Database, Transaction
from tests.postgres import FreshDatabase
from tests.servers import CreateDatabase

INSERT: Final = """
INSERT INTO finalize_operations (operation_id, application_id, kind, status, generation, holder, lease_expires_at,
                                 household_id, completed_at)
VALUES ($1, $1, 'initial', $2::text, $3::bigint,
        CASE WHEN $2::text IN ('in_progress', 'compensating') THEN gen_random_uuid() END,
        CASE WHEN $2::text IN ('in_progress', 'compensating') THEN clock_timestamp() END,
        CASE WHEN $2::text = 'completed' THEN gen_random_uuid() END,
        CASE WHEN $2::text = 'completed' THEN clock_timestamp() END)
"""
CHANGE: Final = """
UPDATE finalize_operations
   SET status = $2::text,
       generation = generation + $3::bigint,
       holder = CASE WHEN $2::text IN ('in_progress', 'compensating') THEN gen_random_uuid() END,
       lease_expires_at = CASE WHEN $2::text IN ('in_progress', 'compensating') THEN clock_timestamp() END,
       household_id = CASE WHEN $2::text = 'completed' THEN gen_random_uuid() END,
       completed_at = CASE WHEN $2::text = 'completed' THEN clock_timestamp() END
 WHERE operation_id = $1
"""
# How an operation legally comes to each state.
PATHS: Final = {
    Status.IN_PROGRESS: (),
    Status.COMPENSATING: (Status.COMPENSATING,),
    Status.COMPLETED: (Status.COMPLETED,),
    Status.ABORTED: (Status.COMPENSATING, Status.ABORTED),
}


@pytest.fixture
async def fresh(create_database: CreateDatabase) -> FreshDatabase:
    return await create_database("outbox", "applications")


@pytest.fixture
async def db(fresh: FreshDatabase) -> AsyncIterator[Database]:
    async with Database.open(fresh.service) as opened:
        yield opened


async def operation_in(db: Database, status: Status) -> uuid.UUID:
    operation_id = uuid.uuid4()
    await run(db, INSERT, operation_id, Status.IN_PROGRESS.value, 1)
    for step in PATHS[status]:
        await run(db, CHANGE, operation_id, step.value, 0)
    return operation_id


async def run(db: Database, sql: str, *args: object) -> str:
    async def work(tx: Transaction) -> str:
        return await tx.execute(sql, *args)

    return await db.transact("test", work)


async def refusal(db: Database, sql: str, *args: object) -> str:
    """Run what must be refused, and return the name of the rule that refused it."""
    with pytest.raises(asyncpg.CheckViolationError) as caught:
        await run(db, sql, *args)
    return str(getattr(caught.value, "constraint_name", ""))


async def test_sql_and_python_hold_the_same_pairs(db: Database) -> None:
    """FIN-05: the transition table of the database equals the pairs that the code is written by."""
    rows = await db.fetch("SELECT from_status, to_status FROM finalize_operation_transitions")

    assert {(row["from_status"], row["to_status"]) for row in rows} == set(TRANSITIONS)


def test_contract_names_the_same_states() -> None:
    """FIN-05: what is stored and what is told are the same states."""
    told = {name.removeprefix("OPERATION_STATE_").lower() for name in OperationState.keys()}  # noqa: SIM118

    assert told - {"unspecified"} == {status.value for status in Status}


async def test_trigger_lets_the_pairs_through_and_nothing_else(db: Database) -> None:
    """FIN-05: every pair of states is tried; only those of the table change a row."""
    for before, after in itertools.product(Status, Status):
        operation_id = await operation_in(db, before)
        if before == after and before != Status.COMPLETED:  # no transition: a new holder, or nothing new at all
            assert await run(db, CHANGE, operation_id, after.value, 0) == "UPDATE 1"
            continue
        if (before, after) in TRANSITIONS:
            raised = 1 if before == Status.ABORTED else 0
            assert await run(db, CHANGE, operation_id, after.value, raised) == "UPDATE 1"
            continue

        # A completed operation that completes again would get another household.
        expected = "finalize_operations_set_once" if before == after else "finalize_operation_transitions"
        assert await refusal(db, CHANGE, operation_id, after.value, 0) == expected, (before, after)


async def test_an_operation_begins_in_progress(db: Database) -> None:
    """FIN-05: no operation is inserted completed, aborted or being undone."""
    for status in set(Status) - {Status.IN_PROGRESS}:
        assert (ABSENT, status) not in TRANSITIONS
        assert await refusal(db, INSERT, uuid.uuid4(), status.value, 1) == "finalize_operation_transitions"


async def test_only_a_new_submit_raises_the_generation(db: Database) -> None:
    """FIN-10: generations count from one, and an aborted attempt that is submitted again has the next one."""
    step = "finalize_operations_generation_step"
    assert await refusal(db, INSERT, uuid.uuid4(), Status.IN_PROGRESS.value, 2) == step
    for before, after, raised in (
        (Status.IN_PROGRESS, Status.IN_PROGRESS, 1),
        (Status.IN_PROGRESS, Status.COMPLETED, 1),
        (Status.ABORTED, Status.IN_PROGRESS, 0),
        (Status.ABORTED, Status.IN_PROGRESS, 2),
    ):
        operation_id = await operation_in(db, before)
        assert await refusal(db, CHANGE, operation_id, after.value, raised) == step, (before, after, raised)


async def test_the_service_cannot_rewrite_what_is_pinned(db: Database) -> None:
    """FIN-10: pins and rows are out of the service's reach: it has no such right."""
    for sql in (
        "DELETE FROM finalize_operations",
        "DELETE FROM finalize_attempts",
        "TRUNCATE finalize_operations CASCADE",
        "UPDATE finalize_attempts SET received_at = clock_timestamp()",
        "UPDATE finalize_attempts SET basis_date = '2020-01-01'",
        "UPDATE finalize_attempts SET digest = ''",
        "UPDATE finalize_operations SET operation_id = gen_random_uuid()",
        "DELETE FROM finalize_operation_transitions",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await run(db, sql)
