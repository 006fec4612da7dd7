"""SIGKILL, of each process and of all of them: what was acknowledged is there, and what was under way can be ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

import aiohttp
import pytest
from google.protobuf import json_format
from redis.asyncio import Redis

from canopy.events.v1.event_pb2 import Event
from services.chassis.bus_redis import STREAM
from tests.e2e import rest
from tests.e2e.edge_world import Answer
from tests.e2e.rest import Json, Page
from tests.filings import filing
from tests.machine import PATIENCE_SECONDS, Machine

PARTS: Final = (
    "postgres", "valkey-sessions", "valkey-bus", "identity", "persons", "applications", "portal", "edge",
)  # fmt: skip
FORM: Final[Json] = json_format.MessageToDict(filing(3))
SUBMIT: Final = ("POST", "/v1/portal/draft:submit")
# What one submit must have left, whatever happened to it on its way.
FILED_ONCE: Final = """
SELECT (SELECT count(*) FROM applications WHERE application_id = $1),
       (SELECT count(*) FROM finalize_operations WHERE operation_id = $1 AND status = 'completed' AND generation = 1),
       (SELECT count(*) FROM application_drafts WHERE application_id = $1)
"""
RECORDED_ONCE: Final = """
SELECT (SELECT count(*) FROM person_versions WHERE operation_id = $1),
       (SELECT count(*) FROM household_versions WHERE operation_id = $1),
       (SELECT count(*) FROM member_versions WHERE operation_id = $1),
       (SELECT count(*) FROM income_versions WHERE operation_id = $1)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """What the stack has said to be durable: a saved draft and a filing, each with a session that opens it."""

    drafting: Page
    saved: Json
    filing: Page
    receipt: Json


@pytest.fixture(scope="module")
async def acknowledged(machine: Machine) -> AsyncIterator[Acknowledged]:
    async with rest.portal_page(machine) as drafting, rest.portal_page(machine) as filed:
        await rest.start(drafting, machine)
        saved = rest.save()
        assert (await drafting.call("PUT", "/v1/portal/draft", saved)).status == 200
        await rest.start(filed, machine)
        submitted = await filed.call(*SUBMIT, rest.submit(FORM))
        assert submitted.status == 201
        yield Acknowledged(drafting=drafting, saved=saved, filing=filed, receipt=submitted.json()["receipt"])


async def require_kept(machine: Machine, acknowledged: Acknowledged) -> None:
    """Demand that draft, filing, record and both sessions are as they were."""
    draft = (await acknowledged.drafting.call("GET", "/v1/portal/draft")).json()
    again = await acknowledged.filing.call(*SUBMIT, rest.submit(FORM))
    async with rest.staff_program(machine, await machine.token()) as staff:
        wanted = {"householdIds": [acknowledged.receipt["householdId"]], "asOf": acknowledged.receipt["basisDate"]}
        households = (await staff.call("POST", "/v1/households:batchGet", wanted)).json()["entries"]

    assert draft["revision"] == "1"
    assert draft["content"] == acknowledged.saved["content"]
    assert draft["wrappedKey"] == acknowledged.saved["wrappedKey"]
    assert (again.status, again.json()["receipt"]) == (201, acknowledged.receipt)
    assert [len(entry["state"]["members"]) for entry in households] == [len(FORM["people"])]


async def repeat(machine: Machine, call: Callable[[], Awaitable[Answer]]) -> Answer:
    """Repeat a call for as long as the answer is that a repeat may help."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            await machine.until_ready()
            try:
                answer = await call()
            except (aiohttp.ClientError, OSError):
                continue
            if answer.status not in {429, 503, 504}:
                return answer
            assert answer.status == 504 or answer.headers["retry-after"]


async def require_filed_once(machine: Machine, application_id: str) -> None:
    """Demand one filing, one record of everything in it, and each event of it on the bus."""
    people, incomes = len(FORM["people"]), len(FORM["incomes"])
    operation = uuid.UUID(application_id)
    async with machine.database("canopy_applications") as db:
        assert [tuple(row) for row in await db.fetch(FILED_ONCE, operation)] == [(1, 1, 0)]
    async with machine.database("canopy_persons") as db:
        recorded = [tuple(row) for row in await db.fetch(RECORDED_ONCE, operation)]
        assert recorded == [(people, 1, people, incomes)]
        entities = await db.fetch("SELECT person_id FROM person_versions WHERE operation_id = $1", operation)
    wanted = {f"application/{application_id}", *(f"person/{entity['person_id']}" for entity in entities)}
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not wanted <= (told := await published(machine)).keys():
            pass
    assert all(len(told[subject]) == 1 for subject in wanted)


async def published(machine: Machine) -> dict[str, set[str]]:
    """Read the bus: the ids of the events of each subject."""
    told: dict[str, set[str]] = {}
    async with Redis.from_url(machine.address("bus"), password=machine.secret("valkey-bus")) as bus:
        entries: Any = await bus.xrange(STREAM)
    for _, content in entries:
        event = Event.FromString(content[b"event"])
        told.setdefault(event.subject, set()).add(event.id)
    return told


@pytest.mark.parametrize("part", PARTS)
async def test_killed_part_comes_back_and_nothing_acknowledged_is_lost(
    machine: Machine, acknowledged: Acknowledged, part: str
) -> None:
    """OPS-01, FIN-26: draft, session and filing outlive the process; a submit cut in its middle is filed once."""
    before = await machine.until_ready()

    async with rest.portal_page(machine) as page, rest.submit_under_way(page, machine, FORM):
        os.kill(machine.pid(part), signal.SIGKILL)
        starts = before["parts"][part]["restarts"] + 1
        after = await machine.until_ready(lambda now: now["parts"][part]["restarts"] >= starts)
        submitted = await repeat(machine, lambda: page.call(*SUBMIT, rest.submit(FORM)))

    assert submitted.status == 201, submitted.body
    await require_filed_once(machine, submitted.json()["receipt"]["applicationId"])
    await require_kept(machine, acknowledged)
    assert {name: each["port"] for name, each in after["parts"].items()} == {
        name: each["port"] for name, each in before["parts"].items()
    }


async def test_dead_stack_is_brought_back_by_up_as_it_was(machine: Machine, acknowledged: Acknowledged) -> None:
    """OPS-01, FIN-26: after the death of everything at once, `up` finds its data, secrets and ports again."""
    before = await machine.until_ready()
    secrets = {path.name: path.read_bytes() for path in (machine.home / "secrets").iterdir()}

    async with rest.portal_page(machine) as page, rest.submit_under_way(page, machine, FORM):
        for pid in (before["supervisor"], *(each["pid"] for each in before["parts"].values())):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        dead = await machine.until(lambda now: now["status"] == "down")
        twice = [await machine.canopy("--json", "down") for _ in range(2)]
        started = await machine.canopy("--json", "up")
        assert started.code == 0, started.err
        submitted = await repeat(machine, lambda: page.call(*SUBMIT, rest.submit(FORM)))

    assert dead == {"status": "down"}
    assert [(each.code, each.json()) for each in twice] == [(0, {"stopped": False})] * 2
    assert started.json()["addresses"] == before["addresses"]
    assert {path.name: path.read_bytes() for path in (machine.home / "secrets").iterdir()} == secrets
    assert submitted.status == 201, submitted.body
    await require_filed_once(machine, submitted.json()["receipt"]["applicationId"])
    await require_kept(machine, acknowledged)


async def test_part_that_is_away_is_said_with_a_time_to_come_back(machine: Machine, acknowledged: Acknowledged) -> None:
    """MSH-08, MSH-11: a 503 in the one shape, whether a service or the edge itself says it."""
    for part in ("applications", "portal"):
        await machine.until_ready()
        os.kill(machine.pid(part), signal.SIGKILL)

        answer = await acknowledged.drafting.call("GET", "/v1/portal/draft")

        assert (answer.status, rest.reason(answer)) == (503, "REASON_UPSTREAM_UNAVAILABLE")
        assert int(answer.headers["retry-after"]) > 0
        assert answer.is_hardened()
    await machine.until_ready()
