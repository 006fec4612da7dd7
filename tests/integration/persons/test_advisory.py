"""Advisory locks on a real server: gates are fair, many locks are taken in one order."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterable

from services.chassis.postgres import Database, Transaction
from services.kernel.tally import tally
from services.persons.store.advisory import LockClass, close_gate, enter_gate, lock_all, lock_key
from tests.postgres import blocked
from tests.servers import OpenDatabase


def locking(db: Database, keys: Iterable[int], runs: list[str], name: str) -> asyncio.Task[None]:
    """Take locks in a transaction of their own; note every run of it."""

    async def work(tx: Transaction) -> None:
        runs.append(name)
        await lock_all(tx, keys)

    return asyncio.create_task(db.transact(name, work))


async def test_locks_are_taken_in_key_order_whatever_the_order_given(database: OpenDatabase) -> None:
    """FIN-18: two transactions that ask for the same locks in opposite orders take turns; none is run again."""
    db = await database()
    keys = sorted(lock_key(LockClass.ENTITY, uuid.uuid4().bytes) for _ in range(5))
    runs: list[str] = []
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def hold_the_middle(tx: Transaction) -> None:
        await close_gate(tx, keys[2])
        begun.set()
        await go_on.wait()

    middle = asyncio.create_task(db.transact("middle", hold_the_middle))
    await begun.wait()
    up, down = locking(db, keys, runs, "up"), locking(db, list(reversed(keys)), runs, "down")
    await blocked(db, up, sessions=2)
    go_on.set()
    await asyncio.gather(middle, up, down)

    assert sorted(runs) == ["down", "up"]


async def test_a_gate_lets_many_in_and_one_close_it(database: OpenDatabase) -> None:
    """FIN-04: those who pass a gate do so together; one who closes it waits for them, and later ones wait for it."""
    db, key = await database(), lock_key(LockClass.GENERATION, uuid.uuid4().bytes)
    inside, leave = asyncio.Barrier(3), asyncio.Event()
    order: list[str] = []

    async def pass_together(tx: Transaction) -> None:
        await enter_gate(tx, key)
        await inside.wait()
        await leave.wait()
        order.append("early")

    async def close(tx: Transaction) -> None:
        await close_gate(tx, key)
        order.append("closed")

    async def pass_late(tx: Transaction) -> None:
        await enter_gate(tx, key)
        order.append("late")

    early = [asyncio.create_task(db.transact("early", pass_together)) for _ in range(2)]
    await inside.wait()
    closing = asyncio.create_task(db.transact("close", close))
    await blocked(db, closing)
    late = asyncio.create_task(db.transact("late", pass_late))
    await blocked(db, late, sessions=2)
    leave.set()
    await asyncio.gather(*early, closing, late)

    assert order == ["early", "early", "closed", "late"]


async def test_no_locks_no_statement(database: OpenDatabase) -> None:
    """FIN-18: nothing to lock costs nothing."""
    db = await database()

    async def work(tx: Transaction) -> None:
        await lock_all(tx, [])

    with tally() as cost:
        await db.transact("nothing", work)

    assert cost.statements == 0
