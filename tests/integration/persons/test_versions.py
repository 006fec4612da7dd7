"""Versions in the database: no overlap, a clock that follows the lock, plans that hold, costs that are counted."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

import asyncpg
import pytest

from canopy.errors.v1.reason_pb2 import Reason
from canopy.persons.v1 import households_service_pb2 as households_pb
from canopy.persons.v1 import persons_service_pb2 as persons_pb
from services.chassis.envelope import KeyRing
from services.chassis.postgres import Database
from services.kernel import failpoint
from services.kernel.failpoint import Action, Failpoint
from services.kernel.tally import Tally, tally
from services.persons.domain.generations import Generations
from services.persons.domain.steps import PlacedStep
from services.persons.domain.tagged_write import TaggedWriter
from services.persons.store.generations import Attempt
from services.persons.store.lookups import READ_HOUSEHOLDS, READ_PERSONS
from tests import persons as build
from tests.applications import key_ring
from tests.mesh import refused
from tests.persons import RunningPersons, ids_by_key
from tests.postgres import FreshDatabase, PostgresDatabases

ROOTS = {
    "persons": "person_id",
    "households": "household_id",
    "members": "fact_id, household_id, person_id",
    "incomes": "fact_id, person_id",
}
VERSIONS = {
    "person_versions": ("person_id", 4),
    "household_versions": ("household_id", 1),
    "member_versions": ("fact_id", 1),
    "income_versions": ("fact_id", 1),
}


async def test_database_refuses_two_versions_of_a_day(service: RunningPersons, db: Database) -> None:
    """PER-02: the database itself lets no day be covered by two versions on record, whatever the code does."""
    [person_id] = await service.record(build.person_step())

    async def overlap(tx: Any) -> None:
        dek_id = uuid.uuid4()
        await tx.execute("INSERT INTO redaction_keys VALUES ($1, 'k1', '\\x00', clock_timestamp())", dek_id)
        await tx.execute(
            "INSERT INTO person_versions (version_id, person_id, valid, recorded_at, dek_id, payload)"
            " VALUES (gen_random_uuid(), $1, '[2026-05-01,2026-06-01)', clock_timestamp(), $2, '\\x00')",
            uuid.UUID(person_id),
            dek_id,
        )

    with pytest.raises(asyncpg.ExclusionViolationError):
        await db.transact("overlap", overlap)


async def open_attempt(db: Database) -> Attempt:
    """Register an attempt without the service, whose clients repeat what is refused for a moment."""
    attempt = Attempt(operation_id=uuid.uuid4(), generation=1)
    await Generations(db, released=lambda: None).register(attempt, build.DIGEST, date(2026, 3, 14))
    return attempt


async def rename(db: Database, attempt: Attempt, person_id: str, name: str) -> None:
    """Record another name of a person."""
    step = PlacedStep(path="step", step=build.person_step(details=build.person(name), person_id=person_id))
    await TaggedWriter(db, KeyRing.parse(key_ring("k1").reveal())).apply(attempt, build.DIGEST, [step])


async def test_recorded_time_follows_the_lock(service: RunningPersons, db: Database) -> None:
    """PER-02: a transaction that began first and got the lock second is recorded second: its clock is read after."""
    [person_id] = await service.record(build.person_step())
    slow, quick = await open_attempt(db), await open_attempt(db)
    with failpoint.arm(Failpoint.PERSONS_AFTER_BEGIN, Action.PAUSE) as paused:
        begun = asyncio.create_task(rename(db, slow, person_id, "Slow"))
        await paused.reached()
        await rename(db, quick, person_id, "Quick")
        paused.resume()
        await begun

    rows = await db.fetch("SELECT operation_id, superseded_at FROM person_versions ORDER BY recorded_at")
    assert [row["operation_id"] for row in rows[1:]] == [quick.operation_id, slow.operation_id]
    assert [row["superseded_at"] is None for row in rows] == [False, False, True]
    assert (await service.person(person_id)).state.details.name.given == "Slow"


async def test_clock_that_stepped_back_is_refused(service: RunningPersons, db: Database, fresh: FreshDatabase) -> None:
    """PER-02: nothing is recorded at an instant before what is on record of the entity; nothing of it is kept."""
    [person_id] = await service.record(build.person_step(details=build.person("Ana")))
    async with fresh.as_admin() as admin:
        await admin.execute("SET session_replication_role = replica")
        await admin.execute("UPDATE person_versions SET recorded_at = recorded_at + interval '1 hour'")
    attempt = await open_attempt(db)

    with refused(Reason.REASON_CLOCK_STEPPED_BACK):
        await rename(db, attempt, person_id, "Eva")

    assert (await service.person(person_id)).state.details.name.given == "Ana"
    assert await db.fetchval("SELECT count(*) FROM redaction_keys") == 1


@pytest.fixture(scope="module")
async def large(databases: PostgresDatabases) -> FreshDatabase:
    """A database with 5,000 households of one member with one income; the person has four versions."""
    fresh = await databases.create("outbox", "persons")
    async with fresh.as_admin() as admin:
        await admin.execute("SET session_replication_role = replica")  # no foreign keys: rows come in any order
        await admin.execute("CREATE TEMP TABLE seed AS SELECT gen_random_uuid() AS id FROM generate_series(1, 5000)")
        for root, columns in ROOTS.items():
            values = ", ".join("id" for _ in columns.split(", "))
            await admin.execute(
                f"INSERT INTO {root} ({columns}, created_at, sealed_at) SELECT {values}, now(), now() FROM seed"
            )
        for table, (column, count) in VERSIONS.items():
            await admin.execute(
                f"INSERT INTO {table} (version_id, {column}, valid, recorded_at, dek_id, payload)"
                " SELECT gen_random_uuid(), id, daterange(day, CASE WHEN nth < $1 THEN day + 30 END), now(),"
                " gen_random_uuid(), '\\x00'"
                " FROM seed, generate_series(1, $1) AS nth, LATERAL (SELECT date '2026-01-01' + 30 * nth AS day) AS d",
                count,
            )
            await admin.execute(f"INSERT INTO redaction_keys SELECT dek_id, 'k1', '\\x00', now(), NULL FROM {table}")
        await admin.execute("VACUUM ANALYZE")
    return fresh


def walk(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Walk a plan."""
    yield plan
    for inner in plan.get("Plans", []):
        yield from walk(inner)


@pytest.mark.parametrize("known_at", [None, datetime.fromisoformat("2026-06-01T00:00:00Z")], ids=["now", "known_at"])
@pytest.mark.parametrize(
    ("sql", "ids", "indexes"),
    [
        (READ_PERSONS, "SELECT person_id FROM persons LIMIT 5", {"person_versions_by_day"}),
        (
            READ_HOUSEHOLDS,
            "SELECT household_id FROM households LIMIT 5",
            {"household_versions_by_day", "member_versions_by_day", "income_versions_by_day"},
        ),
    ],
    ids=["persons", "households"],
)
async def test_reads_find_versions_by_their_index(
    large: FreshDatabase, sql: str, ids: str, indexes: set[str], known_at: datetime | None
) -> None:
    """PER-03: a batch read of a large database touches the versions asked for, by the index on their first day."""
    async with large.as_owner() as owner:
        asked = [row[0] for row in await owner.fetch(ids)]
        explained = await owner.fetchval(f"EXPLAIN (FORMAT JSON) {sql}", asked, date(2026, 4, 1), known_at)

    assert explained
    plan = list(walk(json.loads(explained)[0]["Plan"]))
    scans = {node["Index Name"] for node in plan if "Index Name" in node}
    read_whole = {node["Relation Name"] for node in plan if node["Node Type"] == "Seq Scan"}
    conditions = [node.get("Index Cond", "") for node in plan if str(node.get("Index Name")).endswith("_by_day")]
    assert indexes <= scans
    assert read_whole == set()
    assert all("lower(" in condition for condition in conditions)


async def test_a_read_is_one_statement(service: RunningPersons) -> None:
    """PER-03: a batch read is one statement, one snapshot, one round trip, however many ids it has."""
    steps = build.graph(3)
    ids = ids_by_key(steps, await service.record(*steps))
    people = persons_pb.BatchGetPersonsRequest(
        person_ids=[ids["person/0"], ids["person/1"], *(str(uuid.uuid4()) for _ in range(200))], as_of=build.BASIS
    )
    households = households_pb.BatchGetHouseholdsRequest(
        household_ids=[ids["household"], *(str(uuid.uuid4()) for _ in range(200))], as_of=build.BASIS
    )

    with tally() as of_people:
        await service.persons.BatchGetPersons(people)
    with tally() as of_households:
        await service.households.BatchGetHouseholds(households)

    assert of_people == of_households == Tally(rpcs=1, statements=1, round_trips=1)


@pytest.mark.parametrize("people", [1, 4, 10])
async def test_a_batch_costs_the_same_whatever_its_size(service: RunningPersons, people: int) -> None:
    """FIN-18: a batch of new entities is seven statements and one commit, for one person as for ten."""
    filing = await service.begin()

    with tally() as cost:
        await filing.apply(*build.graph(people))

    assert cost == Tally(rpcs=1, commits=1, statements=7, round_trips=9)


async def test_costs_of_the_other_finalize_calls(service: RunningPersons) -> None:
    """FIN-18: registration, replay and release are a fixed number of statements too; a replay writes nothing."""
    filing, steps = build.Filing(service=service), build.graph(4)

    with tally() as registration:
        await filing.register()
    await filing.apply(*steps)
    with tally() as replay:
        await filing.apply(*steps)
    with tally() as release:
        await filing.release(build.keys_of(steps))

    assert registration == Tally(rpcs=1, commits=1, statements=3, round_trips=5)
    assert replay == Tally(rpcs=1, commits=1, statements=4, round_trips=6)
    assert release == Tally(rpcs=1, commits=1, statements=5, round_trips=7)


async def test_updates_cost_three_statements_more(service: RunningPersons) -> None:
    """FIN-27: entities on record add their locks, their reading and their superseding, however many they are."""
    steps = build.graph(3)
    ids = ids_by_key(steps, await service.record(*steps))
    filing = await service.begin("2026-04-01")

    with tally() as cost:
        await filing.apply(
            *(build.person_step(index, person_id=ids[f"person/{index}"]) for index in range(3)),
            build.household_step(household_id=ids["household"]),
            *(build.member_step(index, fact_id=ids[f"member/{index}"]) for index in range(3)),
        )

    assert cost == Tally(rpcs=1, commits=1, statements=9, round_trips=11)
