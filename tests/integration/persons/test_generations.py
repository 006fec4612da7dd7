"""RegisterOperation, ReleaseOperation, CancelOperation, GetOperation: the life of a generation."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date
from typing import Any

import pytest

from canopy.errors.v1.reason_pb2 import Reason
from canopy.events.v1.event_pb2 import Event
from canopy.persons.v1.finalize_service_pb2 import (
    GENERATION_STATE_ACTIVE,
    GENERATION_STATE_CANCELLED,
    GENERATION_STATE_RELEASE_BLOCKED,
    GENERATION_STATE_SEALED,
)
from services.chassis import valkey
from services.chassis.postgres import Database
from services.cli.stack.valkey import ValkeyServer
from services.kernel import failpoint
from services.kernel.errors import ClientError
from services.kernel.failpoint import Action, Failpoint
from services.persons.config import PersonsConfig
from services.persons.domain.generations import Generations
from services.persons.store.generations import Attempt
from tests import persons as build
from tests.mesh import Mesh, refused
from tests.outbox import Published
from tests.persons import Filing, RunningPersons, persons_config, running
from tests.postgres import FreshDatabase
from tests.wire import Cut, wired


def again(filing: Filing, **changes: Any) -> Filing:
    """Name the same operation with another generation or digest."""
    return Filing(**{"service": filing.service, "operation_id": filing.operation_id, **changes})


async def due(db: Database) -> int:
    """Count the events that the drainer would publish now."""
    return await db.fetchval("SELECT count(*) FROM outbox_due")


async def unsealed(db: Database) -> int:
    """Count identities that lists leave out."""
    tables = ("persons", "households", "members", "incomes")
    return sum([await db.fetchval(f"SELECT count(*) FROM {table} WHERE sealed_at IS NULL") for table in tables])


@asynccontextmanager
async def published(config: PersonsConfig) -> AsyncIterator[Published]:
    """Look at the bus of a service."""
    async with valkey.connect(config.valkey) as client:
        yield Published(client=client)


async def _events(bus: Published, count: int) -> list[Event]:
    """Return what stands on the bus once that is so many events."""
    while len(events := await bus.events()) < count:
        pass
    return events


async def test_registration_is_acknowledged_again(service: RunningPersons) -> None:
    """FIN-21: a repeated registration with the same pins changes nothing."""
    filing = await service.begin()
    first = await filing.status()

    await filing.register()

    assert await filing.status() == first
    assert (first.state, first.basis_date) == (GENERATION_STATE_ACTIVE, build.BASIS)


async def test_registration_with_other_pins_is_refused(service: RunningPersons) -> None:
    """FIN-20: another digest or basis date than the pinned one is refused, and the pins stay."""
    filing = await service.begin()

    with refused(Reason.REASON_DIGEST_MISMATCH):
        await again(filing, digest=build.OTHER_DIGEST).register()
    with refused(Reason.REASON_DIGEST_MISMATCH):
        await filing.register("2026-03-15")

    assert (await filing.status()).basis_date == build.BASIS


async def test_release_seals_and_lets_events_go(service: RunningPersons, db: Database) -> None:
    """FIN-13, FIN-19: a release whose manifest equals the receipts seals all and lets every event go, exactly once."""
    filing, steps = await service.begin(), build.graph(2)
    await filing.apply(*steps)
    assert (await unsealed(db), await due(db)) == (7, 0)

    released = await filing.release(build.keys_of(steps))
    repeated = await filing.release(build.keys_of(steps))

    status = await filing.status()
    assert (released, repeated) == (7, 0)
    assert (status.state, status.receipts, status.held_events) == (GENERATION_STATE_SEALED, 7, 0)
    assert await unsealed(db) == 0


async def test_held_events_reach_the_bus_only_after_release(
    mesh: Mesh, fresh: FreshDatabase, bus_valkey: ValkeyServer, db: Database
) -> None:
    """FIN-13: nobody sees an event of a filing that is not released; afterwards each is published."""
    config = persons_config(mesh, fresh, bus_valkey)
    async with running(mesh, config) as service, published(config) as bus:
        filing, steps = await service.begin(), build.graph()
        await filing.apply(*steps)
        assert await due(db) == 0
        other = await service.record(build.person_step())
        await _events(bus, 1)  # the drainer is at work, and passed the held ones by

        await filing.release(build.keys_of(steps))
        events = await _events(bus, 5)

    assert [event.subject for event in events[:1]] == [f"person/{other[0]}"]
    assert sorted(event.type for event in events[1:]) == [
        "persons.household.recorded",
        "persons.income.recorded",
        "persons.member.recorded",
        "persons.person.recorded",
    ]
    assert {event.source for event in events} == {"canopy-persons"}


@pytest.mark.parametrize("change", ["missing", "extra", "other"])
async def test_release_with_another_manifest_is_blocked(service: RunningPersons, db: Database, change: str) -> None:
    """FIN-19: a missing or extra receipt blocks the release: that is recorded, nothing is let go, and it stays so."""
    filing, steps = await service.begin(), build.graph()
    manifest = build.keys_of(steps)
    applied = steps[:-1] if change != "extra" else steps
    await filing.apply(*applied)
    if change == "extra":
        manifest = manifest[:-1]
    if change == "other":
        manifest[-1].index = 5

    for _ in range(2):
        with pytest.raises(ClientError) as caught:
            await filing.release(manifest)
        assert caught.value.reason == Reason.REASON_RELEASE_BLOCKED
        assert (caught.value.metadata["missing"], caught.value.metadata["extra"]) == {
            "missing": ("1", "0"),
            "extra": ("0", "1"),
            "other": ("1", "0"),
        }[change]

    status = await filing.status()
    assert (status.state, status.held_events) == (GENERATION_STATE_RELEASE_BLOCKED, len(applied))
    assert (await due(db), await unsealed(db)) == (0, len(applied))
    with refused(Reason.REASON_RELEASE_BLOCKED):
        await filing.release(build.keys_of(applied))  # a manifest that fits does not undo the verdict


async def test_release_of_what_is_not_there_is_refused(service: RunningPersons) -> None:
    """FIN-19, FIN-20: absent, cancelled, or another digest: refused, and nothing changes."""
    manifest = [build.person_step().key]
    absent, cancelled, pinned = Filing(service=service), Filing(service=service), await service.begin()
    await cancelled.cancel()

    with refused(Reason.REASON_GENERATION_ABSENT):
        await absent.release(manifest)
    with refused(Reason.REASON_GENERATION_CANCELLED):
        await cancelled.release(manifest)
    with refused(Reason.REASON_DIGEST_MISMATCH):
        await again(pinned, digest=build.OTHER_DIGEST).release(manifest)

    assert await absent.statuses() == []
    assert (await pinned.status()).state == GENERATION_STATE_ACTIVE


@pytest.mark.parametrize(
    "point",
    [
        Failpoint.PERSONS_RELEASE_AFTER_MANIFEST,
        Failpoint.PERSONS_RELEASE_AFTER_SEAL,
        Failpoint.PERSONS_RELEASE_AFTER_UNHOLD,
    ],
)
async def test_release_is_all_or_nothing(service: RunningPersons, db: Database, point: Failpoint) -> None:
    """FIN-13: a release that fails inside has sealed nothing and let nothing go; repeated, it does all of it."""
    filing, steps = await service.begin(), build.graph()
    await filing.apply(*steps)

    with failpoint.arm(point, Action.RAISE), pytest.raises(ClientError):
        await filing.release(build.keys_of(steps))

    status = await filing.status()
    assert (status.state, status.held_events, await unsealed(db)) == (GENERATION_STATE_ACTIVE, 4, 4)
    assert await filing.release(build.keys_of(steps)) == 4


async def test_cancelling_an_absent_generation_leaves_a_tombstone(service: RunningPersons) -> None:
    """FIN-21: what was cancelled before it came stays cancelled: a late registration and a late step are refused."""
    filing = Filing(service=service)
    await filing.cancel()

    with refused(Reason.REASON_GENERATION_CANCELLED):
        await filing.register()
    with refused(Reason.REASON_GENERATION_CANCELLED):
        await filing.apply(build.person_step())

    status = await filing.status()
    assert (status.state, status.basis_date, status.receipts) == (GENERATION_STATE_CANCELLED, "", 0)


async def test_cancelling_an_empty_generation_is_final_and_repeatable(service: RunningPersons) -> None:
    """FIN-21: an open generation without receipts is cancelled; a second cancel is acknowledged and changes nothing."""
    filing = await service.begin()
    await filing.cancel()
    first = await filing.status()

    await filing.cancel()

    assert first.state == GENERATION_STATE_CANCELLED
    assert await filing.status() == first


async def test_cancelling_is_refused_where_it_would_lose_something(service: RunningPersons) -> None:
    """FIN-19: neither a sealed generation nor one with receipts is cancelled."""
    sealed, filled, blocked = [await service.begin() for _ in range(3)]
    for filing in (sealed, filled, blocked):
        await filing.apply(build.person_step())
    await sealed.release([build.person_step().key])
    with refused(Reason.REASON_RELEASE_BLOCKED):
        await blocked.release([build.household_step().key])

    with refused(Reason.REASON_GENERATION_SEALED):
        await sealed.cancel()
    with refused(Reason.REASON_GENERATION_NOT_EMPTY):
        await filled.cancel()
    with refused(Reason.REASON_GENERATION_NOT_EMPTY):
        await blocked.cancel()

    assert (await filled.status()).state == GENERATION_STATE_ACTIVE


async def test_a_failed_cancel_leaves_the_generation_open(service: RunningPersons) -> None:
    """FIN-04: a cancel that fails inside has cancelled nothing; repeated, it has."""
    filing = await service.begin()

    with failpoint.arm(Failpoint.PERSONS_CANCEL_AFTER_STATE, Action.RAISE), pytest.raises(ClientError):
        await filing.cancel()

    assert (await filing.status()).state == GENERATION_STATE_ACTIVE
    await filing.cancel()
    assert (await filing.status()).state == GENERATION_STATE_CANCELLED


async def test_generations_of_an_operation_are_apart(service: RunningPersons) -> None:
    """FIN-04: the next generation of an operation takes the same step keys anew; all are listed, oldest first."""
    first = await service.begin()
    await first.cancel()
    second = again(first, number=2, digest=build.OTHER_DIGEST)
    await second.register("2026-04-01")

    ids = await second.apply(build.person_step())

    statuses = await first.statuses()
    assert [(each.generation, each.state) for each in statuses] == [
        (1, GENERATION_STATE_CANCELLED),
        (2, GENERATION_STATE_ACTIVE),
    ]
    assert (await service.person(ids[0], "2026-04-01")).state.version.valid_from == "2026-04-01"
    assert await Filing(service=service).statuses() == []


@pytest.mark.parametrize("cut", list(Cut))
async def test_a_lost_answer_of_commit_is_settled(fresh: FreshDatabase, cut: Cut) -> None:
    """FIN-22: whether the commit was lost or only its answer, a registration ends registered and a cancel cancelled."""
    async with wired(fresh.service) as (wire, config), Database.open(config) as db:
        generations = Generations(db, released=lambda: None)
        attempt = Attempt(operation_id=uuid.uuid4(), generation=1)

        wire.cut = cut
        await generations.register(attempt, build.DIGEST, date.fromisoformat(build.BASIS))
        wire.cut = cut
        await generations.cancel(attempt)

        [status] = await generations.status(attempt.operation_id)
    assert wire.cuts == 2
    assert status.state == "cancelled"
