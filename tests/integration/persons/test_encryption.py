"""Personal data at rest: unreadable without the key ring, bound to its row, and gone for good once shredded."""

from __future__ import annotations

import base64
from typing import Any

import asyncpg
import pytest

from canopy.errors.v1.reason_pb2 import Reason
from canopy.persons.v1.person_pb2 import PersonName, TaxpayerNumber, TaxpayerNumberKind, TaxpayerNumberStatus
from services.chassis.postgres import Database
from services.cli.stack.valkey import ValkeyServer
from services.persons.config import KeysConfig
from services.persons.store import keys
from tests import persons as build
from tests.applications import key_ring
from tests.mesh import Mesh, refused
from tests.persons import RunningPersons, ids_by_key, persons_config, running
from tests.postgres import FreshDatabase

NAME, STREET, NUMBER, PAYER = "Canaryane", "7 Canary Row", "123456789", "Canary Bakery"

TABLES = """
SELECT quote_ident(table_name)
  FROM information_schema.tables
 WHERE table_schema = 'public'
   AND table_type = 'BASE TABLE'
"""


async def dump(fresh: FreshDatabase) -> str:
    """Write out every row of every table, bytes in hexadecimal."""
    async with fresh.as_owner() as owner:
        tables = [row[0] for row in await owner.fetch(TABLES)]
        rows = [row[0] for table in tables for row in await owner.fetch(f"SELECT t::text FROM {table} AS t")]
    assert len(tables) > 10
    return "\n".join(rows)


def spellings(text: str) -> list[str]:
    """List how a text would show in a dump."""
    return [text, text.encode().hex(), base64.b64encode(text.encode()).decode().rstrip("=")[:-1]]


async def test_nothing_personal_is_in_any_column(service: RunningPersons, fresh: FreshDatabase) -> None:
    """PER-05: names, numbers, addresses and payers are in no column of any table, in no spelling; ids are."""
    number = TaxpayerNumber(
        status=TaxpayerNumberStatus.TAXPAYER_NUMBER_STATUS_HELD,
        kind=TaxpayerNumberKind.TAXPAYER_NUMBER_KIND_SSN,
        number=NUMBER,
    )
    household, income = build.home(), build.wages()
    household.home.lines[0], income.payer = STREET, PAYER
    steps = [
        build.person_step(details=build.person(name=PersonName(given=NAME, family=NAME), taxpayer_number=number)),
        build.household_step(household),
        build.member_step(),
        build.income_step(details=income),
    ]
    ids = ids_by_key(steps, await service.record(*steps))

    content = await dump(fresh)

    assert (await service.person(ids["person/0"])).state.details.name.given == NAME
    assert ids["person/0"] in content
    for canary in (NAME, STREET, NUMBER, PAYER):
        assert [spelling for spelling in spellings(canary) if spelling in content] == []


@pytest.mark.parametrize(
    "move",
    [
        "SET payload = other.payload",
        "SET dek_id = other.dek_id",
        "SET payload = other.payload, dek_id = other.dek_id",
    ],
    ids=["payload", "key", "payload and key"],
)
async def test_a_payload_moved_to_another_row_does_not_open(
    service: RunningPersons, fresh: FreshDatabase, move: str
) -> None:
    """PER-05: whoever can write to the database cannot give one person the data of another: it does not open there."""
    mine, theirs = await service.record(
        build.person_step(0, build.person("Ana")), build.person_step(1, build.person("Eva"))
    )
    async with fresh.as_admin() as admin:
        await admin.execute("SET session_replication_role = replica")
        await admin.execute("ALTER TABLE person_versions DROP CONSTRAINT person_versions_dek_id_key")
        await admin.execute(
            f"UPDATE person_versions AS mine {move} FROM person_versions AS other"
            " WHERE mine.person_id = $1::uuid AND other.person_id = $2::uuid",
            mine,
            theirs,
        )

    with refused(Reason.REASON_INTERNAL):
        await service.person(mine)

    assert (await service.person(theirs)).state.details.name.given == "Eva"


async def shredded_key(service: RunningPersons, db: Database) -> Any:
    """Record a person, shred their only data key and return its id."""
    [person_id] = await service.record(build.person_step())
    version_id = (await service.person(person_id)).state.version.version_id
    await build.shred(db, "person_versions", version_id)
    return await db.fetchval("SELECT dek_id FROM redaction_keys WHERE shredded_at IS NOT NULL")


@pytest.mark.parametrize(
    "change",
    [
        "SET wrapped_key = '\\x00', shredded_at = NULL",
        "SET wrapped_key = '\\x00'",
        "SET shredded_at = NULL",
        "SET shredded_at = clock_timestamp()",
        "SET kid = 'k2'",
    ],
)
async def test_a_shredded_key_never_comes_back(
    service: RunningPersons, db: Database, fresh: FreshDatabase, change: str
) -> None:
    """PER-06: not even the owner of the table can bring a shredded key back, or date its shred anew."""
    dek_id = await shredded_key(service, db)

    async with fresh.as_owner() as owner:
        with pytest.raises(asyncpg.IntegrityConstraintViolationError):
            await owner.execute(f"UPDATE redaction_keys {change} WHERE dek_id = $1", dek_id)

    assert not await db.transact("shred again", lambda tx: keys.shred_with_dek_id(tx, dek_id))
    assert await db.fetchval("SELECT wrapped_key IS NULL FROM redaction_keys WHERE dek_id = $1", dek_id)


@pytest.mark.parametrize("change", ["SET wrapped_key = '\\x00'", "SET kid = 'k2'", "SET dek_id = gen_random_uuid()"])
async def test_a_live_key_can_only_be_shredded(service: RunningPersons, fresh: FreshDatabase, change: str) -> None:
    """PER-06: the only change that a data key can see is its shred."""
    await service.record(build.person_step())

    async with fresh.as_owner() as owner:
        with pytest.raises(asyncpg.IntegrityConstraintViolationError):
            await owner.execute(f"UPDATE redaction_keys {change}")


async def test_shred_hits_exactly_one_data_key(service: RunningPersons, db: Database) -> None:
    """PER-07: each version has a data key of its own, and the shred of one leaves the later correction readable."""
    [person_id] = await service.record(build.person_step(details=build.person("Ana")), basis_date="2026-01-10")
    first = (await service.person(person_id, "2026-01-10")).state.version.version_id
    await service.record(build.person_step(details=build.person("Eva"), person_id=person_id), basis_date="2026-01-10")

    await build.shred(db, "person_versions", first)

    assert (await service.person(person_id)).state.details.name.given == "Eva"
    assert await db.fetchval("SELECT count(*) FROM redaction_keys WHERE shredded_at IS NULL") == 1


async def test_rotated_ring_wraps_new_keys_and_opens_old_ones(
    mesh: Mesh, fresh: FreshDatabase, bus_valkey: ValkeyServer, db: Database
) -> None:
    """PER-05: after a rotation new versions name the new key, and what was recorded before is read as before."""
    async with running(mesh, persons_config(mesh, fresh, bus_valkey)) as service:
        [old] = await service.record(build.person_step(details=build.person("Ana")))
    rotated = persons_config(mesh, fresh, bus_valkey, keys=KeysConfig(records=key_ring("k2", "k1")))

    async with running(mesh, rotated) as service:
        [new] = await service.record(build.person_step(details=build.person("Eva")))

        assert (await service.person(old)).state.details.name.given == "Ana"
        assert (await service.person(new)).state.details.name.given == "Eva"

    kids = await db.fetch("SELECT kid FROM redaction_keys ORDER BY minted_at")
    assert [row["kid"] for row in kids] == ["k1", "k2"]
