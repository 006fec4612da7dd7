"""What is filed is told to the mesh, once; what is not filed is never told (FIN-13, FIN-14, FIN-19)."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from canopy.applications.v1.finalize_service_pb2 import OperationState
from canopy.errors.v1.reason_pb2 import Reason
from canopy.events.v1.event_pb2 import Event
from canopy.persons.v1.finalize_service_pb2 import ApplyFinalizeStepRequest, Generation, GenerationState
from services.chassis import valkey
from services.chassis.bus_redis import RedisBusConfig, RedisStreamsBus
from services.chassis.outbox_drainer import Drainer, DrainerConfig
from services.kernel import failpoint
from services.kernel.failpoint import Action, Failpoint
from services.kernel.tally import tally
from tests.filings import filing
from tests.mesh import refused
from tests.outbox import Published
from tests.persons import income_step
from tests.submits import PATIENT, World, paused, reached


@asynccontextmanager
async def published(world: World) -> AsyncIterator[Published]:
    """Look at the bus."""
    config = valkey.ValkeyConfig(url=world.bus.url(), password=world.bus.password)
    async with valkey.connect(config) as client:
        yield Published(client=client)


async def drained(world: World) -> list[Event]:
    """Drain both outboxes until nothing is due, and return what stands on the bus."""
    async with published(world) as bus:
        for db, source in ((world.db, "canopy-applications"), (world.persons_db, "canopy-persons")):
            drainer = Drainer(db, RedisStreamsBus(bus.client, RedisBusConfig()), source, DrainerConfig())
            await drainer.drain_once()
            while await db.fetchval("SELECT count(*) FROM outbox_due"):  # the service's own drainer may be at it
                await drainer.drain_once()
        return list({event.id: event for event in await bus.events()}.values())


def of_persons(events: list[Event]) -> list[Event]:
    return [event for event in events if event.source == "canopy-persons"]


async def test_no_event_is_published_before_the_filing_stands(world: World) -> None:
    """FIN-13: at every stop of the attempt a real drain publishes nothing; after it, the whole graph and the filing."""
    draft = await world.draft()
    for point in (
        Failpoint.APPLICATIONS_AFTER_REGISTER_SENT,
        Failpoint.APPLICATIONS_AFTER_APPLY,
        Failpoint.APPLICATIONS_BEFORE_FINAL,
        Failpoint.APPLICATIONS_FINAL_AFTER_OPERATION,
    ):
        with failpoint.arm(point, Action.RAISE), refused(Reason.REASON_INTERNAL):
            await world.first.submit(draft, filing(2))
        assert await drained(world) == [], point

    receipt = await world.first.submit(draft, filing(2))

    events = await drained(world)
    assert len(of_persons(events)) == 6
    (submitted,) = [event for event in events if event.source == "canopy-applications"]
    assert submitted.type == "applications.application.submitted"
    assert submitted.subject == f"application/{draft}"
    assert receipt.household_id in {event.subject.partition("/")[2] for event in events}


async def test_events_of_an_aborted_attempt_are_never_published(world: World) -> None:
    """FIN-13: downstream sees the attempt that was filed and nothing of the one before it."""
    draft = await world.draft()
    wrong = filing(2)
    wrong.people[1].person_id = str(uuid.uuid4())
    with refused(Reason.REASON_ENTITY_NOT_FOUND):
        await world.first.submit(draft, wrong)
    assert await drained(world) == []

    await world.first.submit(draft, filing(2))

    recorded = {str(row["entity"]) for row in await world.recorded(draft)}
    assert {event.subject.partition("/")[2] for event in of_persons(await drained(world))} == recorded


async def test_release_that_fails_takes_no_receipt_away(world: World) -> None:
    """FIN-14: persons goes down after the final commit: the applicant has the receipt, a sweep releases later."""
    draft = await world.draft()
    async with paused(Failpoint.APPLICATIONS_FINAL_AFTER_COMMIT, world.first.submit(draft)) as attempt:
        await world.stop_persons()
        receipt = await attempt.resume()

    assert receipt.application_id == str(draft)
    assert (await world.row(draft))["released_at"] is None
    with pytest.raises(ExceptionGroup):
        await world.sweep()  # still down: the next pass tries again
    await world.start_persons()
    assert of_persons(await drained(world)) == []

    await world.sweep()

    assert (await world.row(draft))["released_at"] is not None
    assert len(of_persons(await drained(world))) == 4


async def test_the_sweeper_of_a_running_service_releases(world: World) -> None:
    """FIN-14: the loop finds what a crash left, without anyone asking."""
    draft = await world.draft()
    with failpoint.arm(Failpoint.APPLICATIONS_FINAL_AFTER_COMMIT, Action.RAISE), refused(Reason.REASON_INTERNAL):
        await world.first.submit(draft)
    with failpoint.arm(Failpoint.APPLICATIONS_AFTER_RELEASED_AT, Action.PAUSE) as released:
        async with world.coordinator(finalize=PATIENT):
            await reached(released)
            released.resume()

    assert (await world.row(draft))["released_at"] is not None


async def test_release_of_another_graph_is_blocked_once_and_for_good(world: World) -> None:
    """FIN-19: a receipt that the filing does not know blocks its release; it is noted once and never tried again."""
    draft = await world.draft()
    async with paused(Failpoint.APPLICATIONS_BEFORE_FINAL, world.first.submit(draft)) as attempt:
        (pins,) = await world.attempts(draft)
        extra = Generation(operation_id=str(draft), generation=1, digest=pins["digest"])
        step = income_step(7)
        await world.persons.finalize.ApplyFinalizeStep(ApplyFinalizeStepRequest(generation=extra, step=step))
        receipt = await attempt.resume()

    row = await world.row(draft)
    assert row["status"] == "completed"
    assert row["released_at"] is None
    assert row["release_blocked_at"] is not None
    (generation,) = await world.generations(draft)
    assert (generation.state, generation.held_events) == (GenerationState.GENERATION_STATE_RELEASE_BLOCKED, 5)
    with tally() as cost:
        await world.sweep()
    assert (cost.rpcs, cost.commits) == (0, 0)
    assert (await world.row(draft))["release_blocked_at"] == row["release_blocked_at"]
    assert of_persons(await drained(world)) == []
    told = await world.first.operation(draft)
    assert told.state == OperationState.OPERATION_STATE_COMPLETED
    assert (told.attempts[0].released, told.attempts[0].release_blocked) == (False, True)
    assert await world.second.submit(draft) == receipt


async def test_one_failing_release_holds_up_no_other(world: World) -> None:
    """FIN-14: a sweep tries every filing that waits, whatever becomes of the first."""
    drafts = [await world.draft() for _ in range(3)]
    for draft in drafts:
        with failpoint.arm(Failpoint.APPLICATIONS_FINAL_AFTER_COMMIT, Action.RAISE), refused(Reason.REASON_INTERNAL):
            await world.first.submit(draft)

    with failpoint.arm(Failpoint.APPLICATIONS_AFTER_RELEASE, Action.RAISE), pytest.raises(ExceptionGroup) as caught:
        await world.sweep()

    assert len(caught.value.exceptions) == 1
    released = [(await world.row(draft))["released_at"] is not None for draft in drafts]
    assert released == [False, True, True]
    await world.sweep()
    assert (await world.row(drafts[0]))["released_at"] is not None


async def test_sweeps_at_once_release_once(world: World) -> None:
    """FIN-14: any number of sweepers may run: persons seals once, the note is made once."""
    draft = await world.draft()
    with failpoint.arm(Failpoint.APPLICATIONS_FINAL_AFTER_COMMIT, Action.RAISE), refused(Reason.REASON_INTERNAL):
        await world.first.submit(draft, filing(3))

    await asyncio.gather(*(world.sweep() for _ in range(4)))

    events = of_persons(await drained(world))
    assert len(events) == len({event.id for event in events}) == 8
