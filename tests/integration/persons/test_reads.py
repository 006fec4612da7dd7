"""BatchGetPersons, BatchGetHouseholds, CheckBirthDate: what held on a day, as known at an instant."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from canopy.errors.v1.reason_pb2 import Reason
from canopy.persons.v1 import households_service_pb2 as households_pb
from canopy.persons.v1 import persons_service_pb2 as persons_pb
from canopy.persons.v1.household_pb2 import PersonRef
from canopy.persons.v1.person_pb2 import DatePrecision, PersonDetails
from canopy.persons.v1.version_pb2 import Absence
from services.chassis.postgres import Database
from services.persons.handlers import convert
from tests import persons as build
from tests.mesh import refused
from tests.persons import RunningPersons, ids_by_key, shred
from tests.postgres import FreshDatabase

UNKNOWN = Absence.ABSENCE_UNKNOWN
VERSIONED = ("person", "household", "member", "income")
ROOTS = ("persons", "households", "members", "incomes")
NOT_VALID = Absence.ABSENCE_NOT_VALID_ON_DATE


async def read(
    service: RunningPersons, *person_ids: str, as_of: str = build.BASIS, known_at: Timestamp | None = None
) -> persons_pb.BatchGetPersonsResponse:
    """Read people."""
    request = persons_pb.BatchGetPersonsRequest(person_ids=person_ids, as_of=as_of, known_at=known_at)
    return await service.persons.BatchGetPersons(request)


async def age(fresh: FreshDatabase) -> None:
    """Make everything on record an hour older, as if the clock had gone on."""
    hour = timedelta(hours=1)
    async with fresh.as_admin() as admin:
        await admin.execute("SET session_replication_role = replica")  # no triggers: rows cannot be rewritten otherwise
        for kind, root in zip(VERSIONED, ROOTS, strict=True):
            both = "recorded_at = recorded_at - $1::interval, superseded_at = superseded_at - $1"
            await admin.execute(f"UPDATE {kind}_versions SET {both}", hour)
            await admin.execute(f"UPDATE {root} SET created_at = created_at - $1::interval", hour)


async def recorded_instants(fresh: FreshDatabase, person_id: str) -> list[Timestamp]:
    """Read when the versions of a person were recorded, oldest first."""
    async with fresh.as_owner() as owner:
        sql = "SELECT recorded_at FROM person_versions WHERE person_id = $1 ORDER BY recorded_at"
        return [convert.timestamp(row["recorded_at"]) for row in await owner.fetch(sql, uuid.UUID(person_id))]


async def test_answers_keep_the_order_of_the_request(service: RunningPersons) -> None:
    """PER-03: one entry per id, in the order of the request, unknown ids in their places."""
    ids = await service.record(*(build.person_step(index, build.person(name)) for index, name in enumerate("ABC")))
    nobody = str(uuid.uuid4())
    asked = [ids[2], nobody, ids[0], ids[1]]

    answer = await read(service, *asked)

    assert [entry.person_id for entry in answer.entries] == asked
    assert [entry.state.details.name.given for entry in answer.entries] == ["C", "", "A", "B"]
    assert [entry.WhichOneof("result") for entry in answer.entries] == ["state", "absent", "state", "state"]
    assert answer.entries[1].absent == UNKNOWN


async def test_day_is_required(service: RunningPersons) -> None:
    """PER-03: there is no default day: a read without as_of is refused, for people and for households."""
    somebody = str(uuid.uuid4())

    with refused(Reason.REASON_INVALID_FIELD):
        await read(service, somebody, as_of="")
    with refused(Reason.REASON_INVALID_FIELD):
        await service.household(somebody, as_of="")


async def test_day_before_the_first_version_is_known_but_not_valid(service: RunningPersons) -> None:
    """PER-03: an entity that does not hold on the day is told apart from one that nobody knows."""
    (person_id, household_id) = await service.record(build.person_step(), build.household_step())

    assert (await service.person(person_id, "2026-03-13")).absent == NOT_VALID
    assert (await service.household(household_id, "2026-03-13")).absent == NOT_VALID
    assert (await service.household(str(uuid.uuid4()))).absent == UNKNOWN
    assert (await service.person(household_id)).absent == UNKNOWN


async def test_update_holds_from_its_basis_date_and_keeps_the_id(service: RunningPersons) -> None:
    """PER-01, PER-02: a later filing about a person makes versions, not another person; earlier days keep theirs."""
    [person_id] = await service.record(build.person_step(details=build.person("Ana")), basis_date="2026-01-10")
    [again] = await service.record(
        build.person_step(details=build.person("Anna"), person_id=person_id), basis_date="2026-02-10"
    )

    before = (await service.person(person_id, "2026-02-09")).state
    after = (await service.person(person_id, "2026-02-10")).state

    assert again == person_id
    assert (before.details.name.given, after.details.name.given) == ("Ana", "Anna")
    assert (before.version.valid_from, before.version.valid_until) == ("2026-01-10", "2026-02-10")
    assert (after.version.valid_from, after.version.valid_until) == ("2026-02-10", "")
    assert before.version.version_id != after.version.version_id


async def test_update_from_an_earlier_day_replaces_what_follows(service: RunningPersons) -> None:
    """PER-02: what holds from the basis date on replaces every version on record that lies after it."""
    [person_id] = await service.record(build.person_step(details=build.person("A")), basis_date="2026-01-01")
    for day, name in (("2026-03-01", "B"), ("2026-02-01", "C")):
        await service.record(build.person_step(details=build.person(name), person_id=person_id), basis_date=day)

    names = [
        (await service.person(person_id, day)).state.details.name.given
        for day in ("2026-01-31", "2026-02-01", "2026-03-01")
    ]

    assert names == ["A", "C", "C"]


async def test_household_comes_with_members_and_incomes_of_that_day(service: RunningPersons) -> None:
    """PER-03: a household has the memberships and incomes that hold on the day, in the order of their recording."""
    steps = build.graph(3)
    ids = ids_by_key(steps, await service.record(*steps))
    [late] = await service.record(
        build.income_step(details=build.wages(7), of=PersonRef(person_id=ids["person/1"])), basis_date="2026-04-01"
    )

    early = (await service.household(ids["household"])).state
    later = (await service.household(ids["household"], "2026-04-01")).state

    assert [member.fact_id for member in early.members] == [ids[f"member/{index}"] for index in range(3)]
    assert [member.person_id for member in early.members] == [ids[f"person/{index}"] for index in range(3)]
    assert [income.fact_id for income in early.incomes] == [ids[f"income/{index}"] for index in range(3)]
    assert [income.person_id for income in early.incomes] == [ids[f"person/{index}"] for index in range(3)]
    assert [income.fact_id for income in later.incomes] == [ids[f"income/{index}"] for index in range(3)] + [late]
    assert early.details == build.home()


async def test_ties_name_people_by_id(service: RunningPersons) -> None:
    """PER-01: a tie given by position in the request is recorded by the id of that person."""
    steps = [
        build.person_step(0),
        build.person_step(1),
        build.household_step(),
        build.member_step(0, build.membership(build.parent_of(1))),
    ]
    ids = ids_by_key(steps, await service.record(*steps))

    [member] = (await service.household(ids["household"])).state.members

    assert member.details.ties[0].to.person_id == ids["person/1"]


async def test_shredded_person_is_a_tombstone(service: RunningPersons, db: Database) -> None:
    """PER-06: a person whose data was shredded is answered with a tombstone, not an error, for that version only."""
    [person_id] = await service.record(build.person_step(details=build.person("Ana")), basis_date="2026-01-10")
    await service.record(build.person_step(details=build.person("Eva"), person_id=person_id), basis_date="2026-02-10")
    before = (await service.person(person_id, "2026-01-10")).state.version.version_id
    await shred(db, "person_versions", before)

    gone, kept = await service.person(person_id, "2026-01-10"), await service.person(person_id, "2026-02-10")

    assert gone.WhichOneof("result") == "tombstone"
    assert gone.tombstone.shredded_at.ToDatetime(tzinfo=UTC) > datetime.now(UTC) - timedelta(hours=1)
    assert kept.state.details.name.given == "Eva"


async def test_shredded_parts_of_a_household_are_tombstones(service: RunningPersons, db: Database) -> None:
    """PER-06: a shredded membership or income leaves its tombstone in the household; a shredded household is one."""
    steps = build.graph(2)
    ids = ids_by_key(steps, await service.record(*steps))
    state = (await service.household(ids["household"])).state
    await shred(db, "member_versions", state.members[0].version.version_id)
    await shred(db, "income_versions", state.incomes[1].version.version_id)

    seen = (await service.household(ids["household"])).state
    await shred(db, "household_versions", state.version.version_id)
    gone = await service.household(ids["household"])

    assert [member.WhichOneof("result") for member in seen.members] == ["tombstone", "details"]
    assert [income.WhichOneof("result") for income in seen.incomes] == ["details", "tombstone"]
    assert gone.WhichOneof("result") == "tombstone"


async def test_unsealed_entities_are_found_by_id(service: RunningPersons) -> None:
    """PER-08: what a finalize has written can be looked up by id before its release."""
    steps = build.graph()
    filing = await service.begin()
    ids = ids_by_key(steps, await filing.apply(*steps))

    assert (await service.person(ids["person/0"])).WhichOneof("result") == "state"
    assert len((await service.household(ids["household"])).state.incomes) == 1


async def test_known_at_gives_what_was_on_record_then(service: RunningPersons, fresh: FreshDatabase) -> None:
    """PER-04: a read at an earlier instant gives what was on record then, whatever was recorded since."""
    [person_id] = await service.record(build.person_step(details=build.person("Ana")))
    await service.record(build.person_step(details=build.person("Eva"), person_id=person_id))
    await age(fresh)
    first, second = await recorded_instants(fresh, person_id)
    before_all = Timestamp(seconds=first.seconds - 60)

    then = await read(service, person_id, known_at=first)
    between = await read(service, person_id, known_at=Timestamp(seconds=second.seconds, nanos=second.nanos - 1000))
    now = await read(service, person_id, known_at=second)
    never = await read(service, person_id, known_at=before_all)

    assert then.entries[0].state.details.name.given == "Ana"
    assert then.entries[0].state.version.recorded_at == first
    assert then.known_at == first
    assert between.entries == then.entries
    assert now.entries[0].state.details.name.given == "Eva"
    assert never.entries[0].absent == UNKNOWN


async def test_known_at_of_households_cuts_members_and_incomes(service: RunningPersons, fresh: FreshDatabase) -> None:
    """PER-04: at an earlier instant a household has the members and incomes that were on record then."""
    steps = build.graph()
    ids = ids_by_key(steps, await service.record(*steps))
    await age(fresh)
    recorded_at = (await service.household(ids["household"])).state.version.recorded_at
    head = PersonRef(person_id=ids["person/0"])
    await service.record(
        build.person_step(),
        build.household_step(household_id=ids["household"]),
        build.member_step(0),
        build.income_step(of=head),
    )
    request = households_pb.BatchGetHouseholdsRequest(
        household_ids=[ids["household"]], as_of=build.BASIS, known_at=recorded_at
    )

    then = (await service.households.BatchGetHouseholds(request)).entries[0].state
    now = (await service.household(ids["household"])).state

    assert then.version.recorded_at == recorded_at
    assert (len(then.members), len(then.incomes)) == (1, 1)
    assert (len(now.members), len(now.incomes)) == (2, 2)


async def test_known_at_too_recent_is_refused(service: RunningPersons) -> None:
    """PER-04: an instant at which an open transaction may still record something is refused, and the future too."""
    [person_id] = await service.record(build.person_step())
    answer = await read(service, person_id)

    for seconds in (0, 3_600):
        instant = Timestamp(seconds=answer.known_at.seconds + seconds)
        with refused(Reason.REASON_KNOWN_AT_TOO_RECENT):
            await read(service, person_id, known_at=instant)


async def test_read_without_known_at_returns_the_clock(service: RunningPersons) -> None:
    """PER-04: the instant that a read used is returned: the database's clock, after all that was recorded."""
    [person_id] = await service.record(build.person_step())

    answer = await read(service, person_id)

    assert answer.known_at.ToNanoseconds() > answer.entries[0].state.version.recorded_at.ToNanoseconds()


@pytest.mark.parametrize(
    ("details", "matches"),
    [
        (build.born("1984-02-29"), True),
        (build.born("1984-03-01"), False),
        (build.born("1984-02", DatePrecision.DATE_PRECISION_MONTH), False),
        (build.born("1984", DatePrecision.DATE_PRECISION_ABOUT), False),
        (build.person(), False),
    ],
    ids=["that day", "another day", "month only", "about", "not given"],
)
async def test_birth_date_is_compared_and_never_told(
    service: RunningPersons, details: PersonDetails, matches: bool
) -> None:
    """PER-09: yes for exactly the recorded day; no for another, an inexact and an absent one."""
    [person_id] = await service.record(build.person_step(details=details))
    request = persons_pb.CheckBirthDateRequest(person_id=person_id, birth_date="1984-02-29", as_of=build.BASIS)

    answer = await service.persons.CheckBirthDate(request)

    assert answer.matches is matches


async def test_birth_date_of_nobody_is_a_no(service: RunningPersons, db: Database) -> None:
    """PER-09: an unknown person, a day without a version and a shredded record are a no like any other."""
    [person_id] = await service.record(build.person_step(details=build.born("1984-02-29")))
    request = persons_pb.CheckBirthDateRequest(person_id=person_id, birth_date="1984-02-29", as_of="2026-03-13")
    stranger = persons_pb.CheckBirthDateRequest(person_id=str(uuid.uuid4()), birth_date="1984-02-29", as_of=build.BASIS)
    assert not (await service.persons.CheckBirthDate(request)).matches
    assert not (await service.persons.CheckBirthDate(stranger)).matches

    version = (await service.person(person_id)).state.version
    await shred(db, "person_versions", version.version_id)
    request.as_of = build.BASIS

    assert not (await service.persons.CheckBirthDate(request)).matches
