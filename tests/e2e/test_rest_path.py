"""The applicant's whole path with plain HTTP calls, what the staff reads afterwards, and what must be found nowhere."""

from __future__ import annotations

import asyncio
import datetime as dt
import os
import signal
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import grpc
import pytest
from google.protobuf import json_format

from canopy.errors.v1.reason_pb2 import Reason
from canopy.persons.v1.persons_service_pb2 import BatchGetPersonsRequest
from canopy.persons.v1.persons_service_pb2_grpc import PersonsServiceStub
from services.cli.stack import postgres_files
from tests.e2e import rest
from tests.e2e.edge_world import Answer
from tests.e2e.rest import Json
from tests.filings import filing
from tests.machine import Machine, execute
from tests.mesh import refused

NAME: Final = "Quirinalia"
STREET: Final = "77 Zwiebelturm Lane"
SUBMIT: Final = ("POST", "/v1/portal/draft:submit")
DATABASES: Final = ("canopy_persons", "canopy_applications")


def form() -> Json:
    """Build a filing whose name and street stand nowhere else."""
    built = filing(2)
    built.people[0].details.name.given = NAME
    built.household.details.home.lines[0] = STREET
    built.signature.name = f"{NAME} Alvarez"
    return json_format.MessageToDict(built)


@dataclass(frozen=True, slots=True, kw_only=True)
class Walked:
    """The path, walked once; the tests look at it."""

    started: Json
    cookies: dict[str, str]  # of the session that submitted
    answers: dict[str, Answer]


@pytest.fixture(scope="module")
async def walked(machine: Machine) -> Walked:
    machine.unspeakable.update({NAME, STREET})
    answers: dict[str, Answer] = {}
    async with rest.portal_page(machine) as phone, rest.portal_page(machine) as library:
        started = await rest.start(phone, machine)
        first, second = rest.save(), rest.save(1)
        answers["session"] = await phone.call("GET", "/v1/portal/session")
        answers["save"] = await phone.call("PUT", "/v1/portal/draft", first)
        answers["save again"] = await phone.call("PUT", "/v1/portal/draft", first)
        answers["save of an old revision"] = await phone.call("PUT", "/v1/portal/draft", rest.save())
        answers["second save"] = await phone.call("PUT", "/v1/portal/draft", second)
        old = phone.cookies()
        answers["log out"] = await phone.call("POST", "/v1/portal/session:end", {})
        answers["cookie after the log out"] = await phone.call("GET", "/v1/portal/draft", headers=_cookies(old))

        wrong = {"code": started["code"], "passcode": "0000-0000-0000"}
        answers["wrong passcode"] = await library.call("POST", "/v1/portal/sessions:resume", wrong)
        typed = {"code": f" {started['code'].upper()} ", "passcode": started["passcode"].replace("-", " ")}
        answers["resume"] = await library.call("POST", "/v1/portal/sessions:resume", typed)
        machine.unspeakable.add(library.cookies()["__Host-sid"])
        answers["draft"] = await library.call("GET", "/v1/portal/draft")
        assert answers["draft"].json()["content"] == second["content"]
        answers["status of a draft"] = await library.call("GET", "/v1/portal/status")
        answers["submit of an old revision"] = await library.call(*SUBMIT, rest.submit(form(), 1))
        answers["submit"] = await library.call(*SUBMIT, rest.submit(form(), 2))
        answers["submit again"] = await library.call(*SUBMIT, rest.submit(form(), 2))
        edited = form()
        edited["people"][1]["details"]["name"]["given"] += "x"
        answers["edited submit"] = await library.call(*SUBMIT, rest.submit(edited, 2))
        answers["status"] = await library.call("GET", "/v1/portal/status")
        answers["draft after the submit"] = await library.call("GET", "/v1/portal/draft")
        answers["save after the submit"] = await library.call("PUT", "/v1/portal/draft", rest.save(2))
        return Walked(started=started, cookies=library.cookies(), answers=answers)


def _cookies(cookies: dict[str, str]) -> dict[str, str]:
    return {"cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}


@pytest.mark.parametrize(
    ("step", "status", "reason"),
    [
        ("session", 200, ""),
        ("save", 200, ""),
        ("save again", 200, ""),
        ("save of an old revision", 409, "REASON_REVISION_STALE"),
        ("second save", 200, ""),
        ("log out", 200, ""),
        ("cookie after the log out", 401, "REASON_SESSION_REQUIRED"),
        ("wrong passcode", 401, "REASON_CREDENTIALS_NOT_ACCEPTED"),
        ("resume", 200, ""),
        ("draft", 200, ""),
        ("status of a draft", 200, ""),
        ("submit of an old revision", 409, "REASON_REVISION_STALE"),
        ("submit", 201, ""),
        ("submit again", 201, ""),
        ("edited submit", 409, "REASON_SUBMIT_DIFFERS"),
        ("status", 200, ""),
        ("draft after the submit", 404, "REASON_DRAFT_NOT_FOUND"),
        ("save after the submit", 404, "REASON_DRAFT_NOT_FOUND"),
    ],
)
async def test_step_answers_with_its_status_and_nothing_of_grpc(
    walked: Walked, step: str, status: int, reason: str
) -> None:
    """MSH-08, MSH-11: each step has its HTTP status and reason, every security header, and no header of gRPC."""
    answer = walked.answers[step]

    assert answer.status == status, answer.body
    assert not reason or rest.reason(answer) == reason
    assert answer.is_hardened()
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"


async def test_repeated_save_and_submit_give_the_first_answer(walked: Walked) -> None:
    """DRF-04, FIN-06: a lost answer is no reason to fear a repeat."""
    assert walked.answers["save again"].body == walked.answers["save"].body
    receipts = [walked.answers[step].json()["receipt"] for step in ("submit", "submit again")]
    assert receipts[0] == receipts[1]
    assert receipts[0]["applicationId"] == walked.started["applicationId"]


async def test_status_tells_how_far_it_is(walked: Walked) -> None:
    """APP-02: before the submit a draft, afterwards what was filed and when."""
    status, receipt = walked.answers["status"].json(), walked.answers["submit"].json()["receipt"]

    assert walked.answers["status of a draft"].json()["progress"] == "PROGRESS_DRAFT"
    assert status["progress"] == "PROGRESS_SUBMITTED"
    assert status["code"] == walked.started["code"]
    assert (status["receivedAt"], status["filingDate"]) == (receipt["receivedAt"], receipt["filingDate"])
    assert status["programsRequested"] == ["PROGRAM_SNAP", "PROGRAM_MEDICAID"]


async def test_two_submits_at_once_file_once(machine: Machine) -> None:
    """FIN-06: who comes second is told to come back, or given the receipt of the first."""
    async with rest.portal_page(machine) as page:
        await rest.start(page, machine)

        answers = await asyncio.gather(*(page.call(*SUBMIT, rest.submit(form())) for _ in range(4)))
        last = await page.call(*SUBMIT, rest.submit(form()))

    filed = [answer.json()["receipt"] for answer in answers if answer.status == 201]
    others = [answer for answer in answers if answer.status != 201]
    assert filed == [last.json()["receipt"]] * len(filed)
    assert {(answer.status, rest.reason(answer)) for answer in others} <= {(503, "REASON_OPERATION_BUSY")}
    assert all(int(answer.headers["retry-after"]) > 0 for answer in others)


async def test_submit_under_way_is_said_with_a_time_to_come_back(machine: Machine) -> None:
    """FIN-06, DRF-12: while persons does not answer, a repeated submit is 503 and a save 409; then it goes through."""
    async with rest.portal_page(machine) as page:
        os.kill(machine.pid("persons"), signal.SIGSTOP)
        try:
            async with rest.submit_under_way(page, machine, form()) as sent:
                repeated = await page.call(*SUBMIT, rest.submit(form()))
                saved = await page.call("PUT", "/v1/portal/draft", rest.save())
                status = await page.call("GET", "/v1/portal/status")
                os.kill(machine.pid("persons"), signal.SIGCONT)
                first = await sent
        finally:
            os.kill(machine.pid("persons"), signal.SIGCONT)

    assert (repeated.status, rest.reason(repeated)) == (503, "REASON_OPERATION_BUSY")
    assert int(repeated.headers["retry-after"]) > 0
    assert (saved.status, rest.reason(saved)) == (409, "REASON_FINALIZE_IN_PROGRESS")
    assert status.json()["progress"] == "PROGRESS_SUBMITTING"
    assert first.status == 201


@pytest.mark.parametrize("path", ["/v1/persons:batchGet", "/v1/households:batchGet"])
async def test_staff_reads_with_a_token_that_the_contract_names(machine: Machine, walked: Walked, path: str) -> None:
    """MSH-03, PER-03: no token and a bad one are 401, one of another service is 403; the right one reads a day."""
    receipt = walked.answers["submit"].json()["receipt"]
    day = dt.date.fromisoformat(receipt["basisDate"])
    tokens = {"none": "", "bad": "kaninchen", "caseworker": await machine.token("caseworker")}
    tokens |= {"portal": await machine.token("canopy-portal"), "steward": await machine.token("data-steward")}
    asked: Json = {"householdIds": [receipt["householdId"]], "asOf": str(day)}
    answers: dict[str, Answer] = {}
    async with rest.staff_program(machine, await machine.token()) as staff:
        if "persons" in path:
            household = (await staff.call("POST", "/v1/households:batchGet", asked)).json()["entries"][0]["state"]
            asked = {"personIds": [member["personId"] for member in household["members"]], "asOf": str(day)}
        answers["right"] = await staff.call("POST", path, asked)
        answers["a day before"] = await staff.call("POST", path, {**asked, "asOf": str(day - dt.timedelta(days=1))})
    for name, token in tokens.items():
        async with rest.staff_program(machine, token) as stranger:
            answers[name] = await stranger.call("POST", path, asked)

    assert {name: answer.status for name, answer in answers.items()} == {
        "none": 401, "bad": 401, "caseworker": 401, "portal": 401, "steward": 403, "right": 200, "a day before": 200,
    }  # fmt: skip
    assert rest.reason(answers["steward"]) == "REASON_CALLER_NOT_ALLOWED"
    assert NAME in answers["right"].body.decode() or STREET in answers["right"].body.decode()
    assert {entry["absent"] for entry in answers["a day before"].json()["entries"]} == {"ABSENCE_NOT_VALID_ON_DATE"}
    assert all(answer.is_hardened() for answer in answers.values())


async def test_staff_reads_by_grpc_and_browsers_do_not(machine: Machine) -> None:
    """MSH-11: the staff listener takes gRPC with the same rules; the public one refuses it as no JSON."""
    request = BatchGetPersonsRequest(person_ids=[str(uuid.uuid4())], as_of="2026-01-01")
    bearer = (("authorization", f"Bearer {await machine.token()}"),)

    async with _channel(machine, "staff") as channel:
        answer = await PersonsServiceStub(channel).BatchGetPersons(request, metadata=bearer, timeout=30)
        with refused(Reason.REASON_UNAUTHENTICATED):
            await PersonsServiceStub(channel).BatchGetPersons(request, timeout=30)
    async with _channel(machine, "public") as channel:
        with pytest.raises(grpc.aio.AioRpcError) as unserved:
            await PersonsServiceStub(channel).BatchGetPersons(request, metadata=bearer, timeout=30)

    assert [entry.person_id for entry in answer.entries] == list(request.person_ids)
    assert unserved.value.code() not in (grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE)


@asynccontextmanager
async def _channel(machine: Machine, listener: str) -> AsyncIterator[grpc.aio.Channel]:
    authority = grpc.ssl_channel_credentials(machine.authority())
    async with grpc.aio.secure_channel(machine.address(listener).removeprefix("https://"), authority) as channel:
        yield channel


async def test_cookies_are_bound_to_the_host_and_hidden_from_scripts(machine: Machine) -> None:
    """SES-01: a start sets both cookies; nothing but the browser, on this host, ever sends them."""
    async with rest.portal_page(machine) as page:
        answer = await page.call("POST", "/v1/portal/drafts", {"requestId": str(uuid.uuid4())})

    cookies = answer.headers.getall("set-cookie")
    assert sorted(cookie.split("=", 1)[0] for cookie in cookies) == ["__Host-did", "__Host-sid"]
    for cookie in cookies:
        attributes = {part.strip().lower() for part in cookie.split(";")[1:]}
        assert attributes == {"path=/", "secure", "httponly", "samesite=strict"}


async def test_no_log_says_what_was_filed_or_what_opens_it(machine: Machine, walked: Walked) -> None:
    """DRF-08, PER-05: no passcode, code, session, token, name or address, in the log of any part."""
    text = machine.logged()

    assert not machine.spoken()
    assert walked.started["code"] not in text
    assert not [value for value in walked.cookies.values() if value in text]


@pytest.mark.parametrize("database", DATABASES)
async def test_dump_of_a_database_holds_nothing_readable(machine: Machine, walked: Walked, database: str) -> None:
    """DRF-08, PER-05: whoever steals a database has neither what opens it nor what was filed."""
    port = machine.state()["parts"]["postgres"]["port"]
    program = postgres_files.place(machine.home).programs / "pg_dump"
    dumped = await execute(
        str(program), "--host", "127.0.0.1", "--port", str(port), "--username", "postgres", database,
        environ={"PGPASSWORD": machine.secret("postgres-superuser")},
    )  # fmt: skip

    assert dumped.code == 0, dumped.err
    assert walked.started["applicationId"] in dumped.out
    assert not [words for words in machine.unspeakable if words in dumped.out or words.encode().hex() in dumped.out]


@pytest.mark.parametrize("instance", ["valkey-sessions", "valkey-bus"])
async def test_files_of_valkey_hold_nothing_that_opens_or_names(
    machine: Machine, walked: Walked, instance: str
) -> None:
    """SES-01, DRF-08: sessions are there by the digest of their token, events by ids."""
    stored = b"".join(path.read_bytes() for path in (machine.home / instance).rglob("*") if path.is_file())

    assert walked.started["applicationId"].encode() in stored
    assert not [words for words in machine.unspeakable if words.encode() in stored]
