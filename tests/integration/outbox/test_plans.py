"""The plans of the drain: their cost follows what is due, not what the table holds."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Iterator
from typing import Any

import asyncpg
import pytest

from services.chassis import outbox, outbox_drainer
from tests.servers import CreateDatabase

ROWS = 10_000
FILL = """
INSERT INTO event_outbox (event_id, position, shard, subject, type, envelope, published_at, attempts)
SELECT gen_random_uuid(), nextval('event_outbox_position'), number % 16, 'person/' || number % 5000, 'persons.x',
       '\\x00', CASE WHEN number % $2 = 0 THEN NULL ELSE now() END, CASE WHEN number % 500 = 0 THEN 1 ELSE 0 END
  FROM generate_series(1, $1) AS number
"""
MOST_BUFFERS = 300  # over 16 shards; measured: 112 to 226


@pytest.fixture
async def owner(create_database: CreateDatabase) -> AsyncIterator[asyncpg.Connection]:
    fresh = await create_database("outbox")
    async with fresh.as_owner() as connection:
        yield connection


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)


async def explained(owner: asyncpg.Connection, sql: str, *args: object) -> dict[str, Any]:
    """Run a statement and return its plan with what it touched; what it changed is undone."""
    transaction = owner.transaction()
    await transaction.start()
    try:
        document: Any = await owner.fetchval(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", *args)
    finally:
        await transaction.rollback()
    return json.loads(document)[0]["Plan"]


@pytest.mark.parametrize("due_every", [100, 1], ids=["mostly published", "all due"])
@pytest.mark.parametrize("cache_mode", ["force_custom_plan", "force_generic_plan"])
async def test_drain_reads_by_the_partial_index(owner: asyncpg.Connection, due_every: int, cache_mode: str) -> None:
    """MSH-12: neither history nor backlog makes a pass dearer."""
    await owner.execute(f"SET plan_cache_mode = {cache_mode}")
    await owner.execute("SET jit = off")
    await owner.execute(FILL, ROWS, due_every)
    await owner.execute("ANALYZE event_outbox")
    statements: list[tuple[str, tuple[object, ...]]] = [
        (outbox_drainer.READ, (list(range(outbox.SHARDS)), 4)),
        (outbox_drainer.CLAIM, (uuid.uuid4(), 60.0, outbox.SHARDS)),
    ]

    for sql, args in statements:
        plan = await explained(owner, sql, *args)

        used = {node["Index Name"] for node in nodes(plan) if "Index Name" in node} - {"outbox_shards_pkey"}
        assert used == {"event_outbox_due", "event_outbox_stuck"}
        assert not any(
            (node["Node Type"], node.get("Relation Name")) == ("Seq Scan", "event_outbox") for node in nodes(plan)
        )
        assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] < MOST_BUFFERS


async def test_release_and_drop_read_by_the_index_of_held_rows(owner: asyncpg.Connection) -> None:
    """FIN-13: releasing one attempt does not read the others' events."""
    await owner.execute(FILL, ROWS, 100)
    await owner.execute(
        "INSERT INTO event_outbox (event_id, shard, subject, type, envelope, hold_operation_id, hold_generation)"
        " SELECT gen_random_uuid(), 1, 'person/1', 'persons.x', '', gen_random_uuid(), 1 FROM generate_series(1, 1000)"
    )
    await owner.execute("ANALYZE event_outbox")

    for sql in (outbox.RELEASE, outbox.DROP):
        plan = await explained(owner, sql, uuid.uuid4(), 1)

        assert "event_outbox_held" in {node.get("Index Name") for node in nodes(plan)}
        assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] < 50
