"""Steps, cancel and release under every interleaving that matters."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import date

from canopy.errors.v1.reason_pb2 import Reason
from canopy.persons.v1.finalize_service_pb2 import (
    GENERATION_STATE_ACTIVE,
    GENERATION_STATE_CANCELLED,
    GENERATION_STATE_SEALED,
)
from canopy.persons.v1.step_pb2 import Step
from services.chassis.envelope import KeyRing
from services.chassis.postgres import Database
from services.kernel import failpoint
from services.kernel.errors import ClientError, Refusal
from services.kernel.failpoint import Action, Failpoint
from services.persons.domain.generations import Generations
from services.persons.domain.steps import PlacedStep
from services.persons.domain.tagged_write import TaggedWriter
from services.persons.store.generations import Attempt
from tests import persons as build
from tests.applications import key_ring
from tests.mesh import refused
from tests.persons import RunningPersons
from tests.postgres import FreshDatabase, blocked

WRITERS = 24


async def test_a_step_begun_before_cancel_cannot_land_after_it(service: RunningPersons, db: Database) -> None:
    """FIN-04: a step that has begun, and comes to the gate after the cancel, writes nothing."""
    filing = await service.begin()
    with failpoint.arm(Failpoint.PERSONS_AFTER_BEGIN, Action.PAUSE) as paused:
        step = asyncio.create_task(filing.apply(build.person_step()))
        await paused.reached()
        await filing.cancel()
        paused.resume()

        with refused(Reason.REASON_GENERATION_CANCELLED):
            await step

    assert (await filing.status()).receipts == 0
    assert await db.fetchval("SELECT count(*) FROM persons") == 0


async def test_cancel_waits_for_a_step_that_has_passed_the_gate(service: RunningPersons, db: Database) -> None:
    """FIN-04: a step that has passed the gate lands first; the cancel then sees its receipt."""
    filing = await service.begin()
    with failpoint.arm(Failpoint.PERSONS_AFTER_GENERATION_LOCK, Action.PAUSE) as paused:
        step = asyncio.create_task(filing.apply(build.person_step()))
        await paused.reached()
        cancel = asyncio.create_task(filing.cancel())
        await blocked(db, cancel)
        paused.resume()
        await step

        with refused(Reason.REASON_GENERATION_NOT_EMPTY):
            await cancel

    status = await filing.status()
    assert (status.state, status.receipts) == (GENERATION_STATE_ACTIVE, 1)


async def test_release_waits_for_a_step_and_counts_it(service: RunningPersons, db: Database) -> None:
    """FIN-19: a release that arrives while a step is open sees its receipt; no event is stranded."""
    filing, steps = await service.begin(), [build.person_step(0), build.person_step(1)]
    await filing.apply(steps[0])
    with failpoint.arm(Failpoint.PERSONS_AFTER_EVENT, Action.PAUSE) as paused:
        step = asyncio.create_task(filing.apply(steps[1]))
        await paused.reached()
        release = asyncio.create_task(filing.release(build.keys_of(steps)))
        await blocked(db, release)
        paused.resume()
        await step

        assert await release == 2

    status = await filing.status()
    assert (status.state, status.held_events) == (GENERATION_STATE_SEALED, 0)


async def test_a_step_that_comes_during_release_is_refused(service: RunningPersons, db: Database) -> None:
    """FIN-19: a late step waits for the release and is refused by the seal: its event would never be let go."""
    filing, steps = await service.begin(), build.graph()
    await filing.apply(*steps)
    with failpoint.arm(Failpoint.PERSONS_RELEASE_AFTER_UNHOLD, Action.PAUSE) as paused:
        release = asyncio.create_task(filing.release(build.keys_of(steps)))
        await paused.reached()
        late = asyncio.create_task(filing.apply(build.person_step(7)))
        await blocked(db, late)
        paused.resume()
        await release

        with refused(Reason.REASON_GENERATION_SEALED):
            await late

    assert (await filing.status()).receipts == len(steps)


async def test_registration_and_cancel_at_once_end_cancelled_or_open(service: RunningPersons) -> None:
    """FIN-21: whichever comes first, both callers learn a state that stands."""
    for _ in range(20):
        filing = build.Filing(service=service)
        registered, _ = await asyncio.gather(filing.register(), filing.cancel(), return_exceptions=True)

        assert (await filing.status()).state == GENERATION_STATE_CANCELLED
        assert registered is None or isinstance(registered, ClientError)


class Attempts:
    """Counts how often transactions of steps were begun: a run after a deadlock counts again."""

    def __init__(self) -> None:
        self.count = 0

    async def __call__(self) -> None:
        self.count += 1


@asynccontextmanager
async def wide(fresh: FreshDatabase) -> AsyncIterator[Database]:
    """Open a database with a connection for each of many writers."""
    async with Database.open(replace(fresh.service, bulk_pool_size=WRITERS)) as db:
        yield db


def writer(db: Database) -> TaggedWriter:
    """Build a writer."""
    return TaggedWriter(db, KeyRing.parse(key_ring("k1").reveal()))


async def test_cancel_does_not_starve_behind_writers(fresh: FreshDatabase) -> None:
    """FIN-04: while 24 writers come again and again, a cancel gets its turn before any of them has had a handful."""
    attempt = Attempt(operation_id=uuid.uuid4(), generation=1)
    nobodys = placed(build.income_step())  # passes the gate, then names nobody: the attempt stays empty
    turns: Counter[int] = Counter()
    at_the_gate: list[Counter[int]] = []
    everyone = asyncio.Event()
    async with wide(fresh) as db:
        generations = Generations(db, released=lambda: None)
        await generations.register(attempt, build.DIGEST, date(2026, 3, 14))
        await db.ping()  # the lane of the cancel is connected

        async def write(number: int) -> Reason:
            while True:
                try:
                    await writer(db).apply(attempt, build.DIGEST, nobodys)
                except Refusal as refusal:
                    if refusal.reason != Reason.REASON_STEP_UNKNOWN:
                        return refusal.reason
                turns[number] += 1
                if len(turns) == WRITERS:
                    everyone.set()

        async def note() -> None:
            at_the_gate.append(turns.copy())

        writers = [asyncio.create_task(write(number)) for number in range(WRITERS)]
        await everyone.wait()
        before = turns.copy()
        with failpoint.arm(Failpoint.PERSONS_CANCEL_AFTER_STATE, note):
            await generations.cancel(attempt)
        reasons = await asyncio.gather(*writers)

    assert max((at_the_gate[0] - before).values(), default=0) <= 5
    assert set(reasons) == {Reason.REASON_GENERATION_CANCELLED}


async def test_opposite_orders_of_the_same_entities_do_not_deadlock(fresh: FreshDatabase) -> None:
    """FIN-18: operations that update the same people in opposite orders take turns; none is run again."""
    async with wide(fresh) as db:
        generations, first = Generations(db, released=lambda: None), Attempt(operation_id=uuid.uuid4(), generation=1)
        await generations.register(first, build.DIGEST, date(2026, 3, 14))
        ids = await writer(db).apply(first, build.DIGEST, placed(*(build.person_step(index) for index in range(10))))
        begun = Attempts()

        async def update(turn: int) -> None:
            attempt = Attempt(operation_id=uuid.uuid4(), generation=1)
            order = ids if turn % 2 else list(reversed(ids))
            steps = [build.person_step(index, person_id=str(person_id)) for index, person_id in enumerate(order)]
            await generations.register(attempt, build.DIGEST, date(2026, 3, 14))
            await writer(db).apply(attempt, build.DIGEST, placed(*steps))

        with failpoint.arm(Failpoint.PERSONS_AFTER_BEGIN, begun, times=None):
            await asyncio.gather(*(update(turn) for turn in range(WRITERS)))

        current = await db.fetchval("SELECT count(*) FROM person_versions WHERE superseded_at IS NULL")
    assert begun.count == WRITERS
    assert current == len(ids)


async def test_opposite_orders_of_the_same_steps_do_not_deadlock(fresh: FreshDatabase) -> None:
    """FIN-02: duplicates of a batch in opposite orders write their receipts in one order; none is run again."""
    attempt, begun = Attempt(operation_id=uuid.uuid4(), generation=1), Attempts()
    steps = [build.person_step(index) for index in range(9)]
    async with wide(fresh) as db:
        await Generations(db, released=lambda: None).register(attempt, build.DIGEST, date(2026, 3, 14))

        def apply(*order: Step) -> asyncio.Task[list[uuid.UUID]]:
            return asyncio.create_task(writer(db).apply(attempt, build.DIGEST, placed(*order)))

        with (
            failpoint.arm(Failpoint.PERSONS_AFTER_BEGIN, begun, times=None),
            failpoint.arm(Failpoint.PERSONS_AFTER_RECEIPT, Action.PAUSE) as paused,
        ):
            middle = apply(steps[4])
            await paused.reached()
            up, down = apply(*steps), apply(*reversed(steps))
            await blocked(db, up, sessions=2)  # each is as far as it gets while the middle one is being written
            paused.resume()
            answers = await asyncio.gather(middle, up, down)

    assert answers[1] == list(reversed(answers[2]))
    assert answers[1][4:5] == answers[0]
    assert begun.count == 3


def placed(*steps: Step) -> list[PlacedStep]:
    """Place steps as a batch."""
    return [PlacedStep(path=f"steps[{index}]", step=step) for index, step in enumerate(steps)]


async def test_a_caller_that_goes_away_cuts_nothing(fresh: FreshDatabase) -> None:
    """FIN-23: a cancelled caller leaves either nothing or everything: the transaction runs to its end."""
    attempt = Attempt(operation_id=uuid.uuid4(), generation=1)
    async with Database.open(fresh.service) as db:
        generations = Generations(db, released=lambda: None)
        await generations.register(attempt, build.DIGEST, date(2026, 3, 14))
        with failpoint.arm(Failpoint.PERSONS_AFTER_RECEIPT, Action.PAUSE) as paused:
            call = asyncio.create_task(writer(db).apply(attempt, build.DIGEST, placed(*build.graph())))
            await paused.reached()
            call.cancel()
            paused.resume()
            await asyncio.wait([call])
        await db.drain()

    async with Database.open(fresh.service) as db:
        [status] = await Generations(db, released=lambda: None).status(attempt.operation_id)
    assert call.cancelled()
    assert (status.receipts, status.held_events) == (4, 4)
