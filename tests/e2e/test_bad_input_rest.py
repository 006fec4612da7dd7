"""Bad input over REST: every route of the contract, every field, refused with a reason and without an echo."""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest
from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor

from services.cli.stack.edge_routes import Rule, contract_path, read_rules
from tests.e2e import bad_bodies, rest
from tests.e2e.bad_bodies import CANARY, BadBody
from tests.e2e.edge_world import Answer
from tests.e2e.rest import Json, Page
from tests.filings import filing
from tests.machine import Machine

DESCRIPTORS: Final = contract_path().read_bytes()
CONTRACT: Final = bad_bodies.Contract(DESCRIPTORS)
RULES: Final = read_rules(DESCRIPTORS)
WITH_BODY: Final = [rule for rule in RULES if rule.verb != "GET"]
WITH_FIELDS: Final = [rule for rule in WITH_BODY if CONTRACT.body_of(rule).fields]
TYPED: Final = [rule for rule in WITH_FIELDS if rule.method != "SubmitDraft"]
SUBMIT: Final = next(rule for rule in WITH_BODY if rule.method == "SubmitDraft")
# What needs no session: each opens or ends one.
OPEN: Final = frozenset({"StartDraft", "ResumeSession", "EndSession"})
PORTAL: Final = [rule for rule in RULES if rule.owner == "portal"]

MALFORMED, INVALID, UNKNOWN = "REASON_MALFORMED_BODY", "REASON_INVALID_FIELD", "REASON_UNKNOWN_FIELD"
NOT_ACCEPTED: Final = "REASON_CREDENTIALS_NOT_ACCEPTED"
WRITTEN: Final = {
    "canopy_applications": "SELECT (SELECT count(*) FROM finalize_operations), (SELECT count(*) FROM applications),"
    " (SELECT sum(revision) FROM application_drafts)",
    "canopy_persons": "SELECT (SELECT count(*) FROM finalize_operation_generations), (SELECT count(*) FROM persons)",
}


def name(rule: Rule) -> str:
    """Name a route in the output of the tests."""
    return f"{rule.verb} {rule.template}"


@pytest.fixture(scope="module")
async def applicant(machine: Machine) -> AsyncIterator[Page]:
    """A page with a draft that was saved once. No test here may change it."""
    machine.unspeakable.add(CANARY)
    async with rest.portal_page(machine) as page:
        await rest.start(page, machine)
        assert (await page.call("PUT", "/v1/portal/draft", rest.save())).status == 200
        yield page


@pytest.fixture(scope="module")
async def staff(machine: Machine) -> AsyncIterator[Page]:
    async with rest.staff_program(machine, await machine.token()) as page:
        yield page


@pytest.fixture
def caller(applicant: Page, staff: Page) -> Callable[[Rule], Page]:
    """Say who calls a route with everything that it asks for but a good body."""
    return lambda rule: applicant if rule.owner == "portal" else staff


def require_refused(answer: Answer, *reasons: str) -> None:
    """Demand a refusal in the one shape, for one of `reasons`, that repeats nothing of what was sent."""
    assert 400 <= answer.status < 500, (answer.status, answer.body)
    assert rest.reason(answer) in reasons, answer.body
    assert answer.is_hardened()
    assert "kaninchen" not in answer.body.decode().lower()


async def written(machine: Machine) -> list[tuple[Any, ...]]:
    """Count what a submit or save that went through would have changed."""
    counted: list[tuple[Any, ...]] = []
    for database, query in WRITTEN.items():
        async with machine.database(database) as db:
            counted += [tuple(row) for row in await db.fetch(query)]
    return counted


async def test_contract_has_the_routes_that_are_tested_here() -> None:
    """MSH-11: the list comes from the contract, and is not empty for either listener."""
    assert {rule.owner for rule in TYPED} == {"portal", "persons"}
    assert len(list(bad_bodies.places(CONTRACT.body_of(SUBMIT)))) > 100


@pytest.mark.parametrize("rule", WITH_BODY, ids=name)
async def test_body_that_is_no_message_is_refused(machine: Machine, caller: Callable[[Rule], Page], rule: Rule) -> None:
    """MSH-08: no JSON, JSON of another kind, bytes that are no text, a depth without end."""
    for body in bad_bodies.NO_BODIES:
        require_refused(await caller(rule).call(rule.verb, rule.template, data=body), MALFORMED)
    assert not machine.spoken()


@pytest.mark.parametrize("rule", WITH_FIELDS, ids=name)
@pytest.mark.parametrize("body", [None, b"", b"{}"], ids=["none", "empty", "without fields"])
async def test_body_without_anything_names_what_is_missing(
    caller: Callable[[Rule], Page], rule: Rule, body: bytes | None
) -> None:
    """MSH-08: what is required is named, also when nothing was sent; credentials are merely not accepted."""
    answer = await caller(rule).call(rule.verb, rule.template, data=body)

    require_refused(answer, MALFORMED, INVALID, NOT_ACCEPTED)
    if rest.reason(answer) == INVALID:
        assert rest.fields(answer)
        assert set(rest.fields(answer).values()) <= {"required"}


@pytest.mark.parametrize("rule", TYPED, ids=name)
async def test_value_of_another_kind_is_refused(machine: Machine, caller: Callable[[Rule], Page], rule: Rule) -> None:
    """MSH-08: for each field of each route a value that cannot be its; it reaches no service."""
    for bad in bad_bodies.of_another_kind(CONTRACT.body_of(rule)):
        require_refused(await caller(rule).call(rule.verb, rule.template, bad.body), MALFORMED, INVALID)
    assert not machine.spoken()


@pytest.mark.parametrize("rule", WITH_FIELDS, ids=name)
@pytest.mark.parametrize("kind", [bad_bodies.beyond_a_limit, bad_bodies.misspelled])
async def test_value_that_breaks_a_rule_is_refused_and_its_field_named(
    machine: Machine,
    caller: Callable[[Rule], Page],
    rule: Rule,
    kind: Callable[[Descriptor], Iterator[BadBody]],
) -> None:
    """MSH-08, APP-05: oversize lists and texts, numbers out of bounds, malformed ids, impossible days, hidden signs."""
    unnamed: list[BadBody] = []
    for bad in kind(CONTRACT.body_of(rule)):
        answer = await caller(rule).call(rule.verb, rule.template, bad.body)
        # What is typed as a code and a passcode has no form: it opens something or nothing.
        require_refused(answer, INVALID, *([NOT_ACCEPTED] if rule.method == "ResumeSession" else []))
        if rest.reason(answer) == INVALID and bad.field not in rest.fields(answer):
            unnamed.append(bad)

    assert not unnamed
    assert not machine.spoken()


@pytest.mark.parametrize(
    ("kind", "reason"),
    [(bad_bodies.of_another_kind, MALFORMED), (bad_bodies.with_an_unknown_field, UNKNOWN)],
)
async def test_submit_is_read_strictly(
    machine: Machine, applicant: Page, kind: Callable[[Descriptor], Iterator[BadBody]], reason: str
) -> None:
    """MSH-08, FIN-09: in each of its fields another kind, an unknown enum; in each of its messages an unknown field."""
    before = await written(machine)
    unnamed: list[BadBody] = []
    for bad in kind(CONTRACT.body_of(SUBMIT)):
        answer = await applicant.call(SUBMIT.verb, SUBMIT.template, bad.body)
        require_refused(answer, reason)
        if bad.field and not any(field.startswith(bad.field) for field in rest.fields(answer)):
            unnamed.append(bad)

    assert not unnamed
    assert await written(machine) == before
    assert not machine.spoken()


def spoiled(**changes: Any) -> Json:
    """Build a filing of three people that is in order but for what `changes` replace; None takes a part away.

    A name is a path with two underscores between its steps: `people__0__details__name`.
    """
    form = json_format.MessageToDict(filing(3))
    for path, value in changes.items():
        *steps, last = (int(step) if step.isdecimal() else step for step in path.split("__"))
        place: Any = form
        for step in steps:
            place = place[step]
        if value is None:
            del place[last]
        else:
            place[last] = value
    return form


def crowd(people: int) -> list[Json]:
    """Build the people of a filing: a head and many children."""
    head, child = json_format.MessageToDict(filing(2))["people"]
    return [head, *itertools.repeat(child, people - 1)]


SAME, OTHER = str(uuid.uuid4()), str(uuid.uuid4())
NO_DAY: Final = {"precision": "DATE_PRECISION_EXACT", "value": "1991-02-29"}
TO_COME: Final = {"precision": "DATE_PRECISION_YEAR", "value": "2199"}
NEVER_ISSUED: Final = {
    "status": "TAXPAYER_NUMBER_STATUS_HELD",
    "kind": "TAXPAYER_NUMBER_KIND_SSN",
    "number": "666121234",
}
TIE: Final = "people__1__member__ties__0__to__index"

HOUSEHOLDS: Final[dict[str, tuple[Json, str]]] = {
    "nobody": (spoiled(people=[]), "request.people"),
    "101 people": (spoiled(people=crowd(101)), "request.people"),
    "1,000 people": (spoiled(people=crowd(1_000)), "request.people"),
    "501 incomes": (spoiled(incomes=[{}] * 501), "request.incomes"),
    "a person twice": (
        spoiled(people__1__personId=SAME, people__2__personId=SAME),
        "request.people[2].person_id",
    ),
    "a membership twice": (
        spoiled(
            people__1__personId=SAME, people__1__memberFactId=SAME,
            people__2__personId=OTHER, people__2__memberFactId=SAME,
        ),
        "request.people[2].member_fact_id",
    ),
    "two heads": (spoiled(people__1__member__relation="RELATION_TO_HEAD_HEAD"), "request.people"),
    "no head": (spoiled(people__0__member=None), "request.people"),
    "nobody applies": (spoiled(**{f"people__{index}__programs": None for index in range(3)}), "request.people"),
    "a program twice": (spoiled(people__0__programs=["PROGRAM_SNAP"] * 2), "request.people[0].programs[1]"),
    "a tie to oneself": (spoiled(**{TIE: 1}), "request.people[1].member.ties[0].to.index"),
    "a tie to no one": (spoiled(**{TIE: 3}), "request.people[1].member.ties[0].to.index"),
    "an income without an earner": (spoiled(incomes__0__earner=None), "request.incomes[0].earner"),
    "an income of no one": (spoiled(incomes__0__earner=3), "request.incomes[0].earner"),
    "filed by no one": (spoiled(submittedBy=3), "request.submitted_by"),
    "a birthday that is no day": (
        spoiled(people__0__details__birthDate=NO_DAY),
        "request.people[0].details.birth_date.value",
    ),
    "a birth to come": (
        spoiled(people__0__details__birthDate=TO_COME),
        "request.people[0].details.birth_date.value",
    ),
    "a number that was never issued": (
        spoiled(people__0__details__taxpayerNumber=NEVER_ISSUED),
        "request.people[0].details.taxpayer_number.number",
    ),
    "no name": (spoiled(people__0__details__name=None), "request.people[0].details.name"),
    "no residence": (spoiled(household__details__home=None), "request.household.details.residence"),
    "a renewal of nothing": (spoiled(kind="FILING_KIND_RENEWAL"), "request.filed_application_id"),
    "a kind that is none": (spoiled(kind="FILING_KIND_UNSPECIFIED"), "request.kind"),
}  # fmt: skip


@pytest.mark.parametrize(("form", "field"), HOUSEHOLDS.values(), ids=HOUSEHOLDS)
async def test_household_that_cannot_be_is_refused_and_nothing_written(
    machine: Machine, applicant: Page, form: Json, field: str
) -> None:
    """FIN-10, MSH-08: what no household can be is refused before anything is claimed, with the field at fault."""
    before = await written(machine)

    answer = await applicant.call(SUBMIT.verb, SUBMIT.template, rest.submit(form, 1))

    require_refused(answer, INVALID)
    assert field in rest.fields(answer)
    assert await written(machine) == before


async def test_key_that_stands_twice_in_a_submit_is_refused(applicant: Page) -> None:
    """FIN-09: of two values none is taken."""
    text = json.dumps(rest.submit(spoiled(), 1))

    twice = text.replace('"given":', f'"given": "{CANARY}", "given":', 1)

    require_refused(await applicant.call(SUBMIT.verb, SUBMIT.template, data=twice.encode()), MALFORMED)


def good_body(rule: Rule) -> Json | None:
    """Build a body that breaks no rule, so that only the caller can be at fault."""
    bodies = {
        "StartDraft": {"requestId": str(uuid.uuid4())},
        "SaveDraft": rest.save(1),
        "SubmitDraft": rest.submit(spoiled(), 1),
        "ResumeSession": {"code": "HH-00000000", "passcode": "0000-0000-0000"},
    }
    return None if rule.verb == "GET" else bodies.get(rule.method, {})


@pytest.mark.parametrize("rule", [rule for rule in PORTAL if rule.method not in OPEN], ids=name)
async def test_no_session_and_one_that_is_none_are_the_same(machine: Machine, rule: Rule) -> None:
    """SES-01: a route that needs a session says so, whatever stands in the cookie."""
    cookies = [{}, {"cookie": "__Host-sid="}, {"cookie": f"__Host-sid={'A' * 43}"}, {"cookie": "__Host-sid=kaninchen"}]
    async with rest.portal_page(machine) as stranger:
        answers = [await stranger.call(rule.verb, rule.template, good_body(rule), headers=sent) for sent in cookies]

    for answer in answers:
        require_refused(answer, "REASON_SESSION_REQUIRED")
    assert len({json.dumps(rest.without_trace(answer)) for answer in answers}) == 1


@pytest.mark.parametrize("rule", [rule for rule in PORTAL if rule.verb != "GET"], ids=name)
async def test_other_pages_can_change_nothing(applicant: Page, rule: Rule) -> None:
    """SES-07: another origin, none, or a page of another site, with the session's own cookies."""
    foreign: tuple[dict[str, str], ...] = (
        {"origin": "https://kaninchen.example"},
        {"origin": "null"},
        {"origin": applicant.url.replace("https", "http")},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
    )
    for headers in foreign:
        answer = await applicant.call(rule.verb, rule.template, good_body(rule), headers=headers)
        require_refused(answer, "REASON_ORIGIN_REFUSED")


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.verb == "GET"], ids=name)
async def test_query_that_the_contract_does_not_know_is_refused(caller: Callable[[Rule], Page], rule: Rule) -> None:
    """MSH-11: no parameter is silently dropped."""
    require_refused(await caller(rule).call("GET", f"{rule.template}?kaninchen=1"), "")


@asynccontextmanager
async def drafting(machine: Machine, *statements: str) -> AsyncIterator[tuple[Page, Json]]:
    """Open a page with a draft, then do to the draft what `statements` say; $1 is its id."""
    async with rest.portal_page(machine) as page:
        started = await rest.start(page, machine)
        async with machine.database("canopy_applications") as db:
            for statement in statements:
                await db.execute(statement, uuid.UUID(started["applicationId"]))
        yield page, started


EXPIRE: Final = "UPDATE application_drafts SET expires_at = clock_timestamp() WHERE application_id = $1"
REMOVE: Final = tuple(
    f"DELETE FROM {table} WHERE application_id = $1"
    for table in ("application_drafts", "application_id_codes", "passcode_hashes")
)
OF_A_DRAFT: Final = [rule for rule in PORTAL if rule.method in {"GetDraft", "SaveDraft", "SubmitDraft", "GetStatus"}]


async def test_draft_that_is_gone_or_expired_or_anothers_is_never_told_apart(machine: Machine) -> None:
    """DRF-12: every answer is the same to the byte, but for its trace id."""
    async with (
        drafting(machine, EXPIRE) as (expired, first),
        drafting(machine, *REMOVE) as (gone, second),
        drafting(machine) as (live, third),
    ):
        for rule in OF_A_DRAFT:
            answers = [await page.call(rule.verb, rule.template, good_body(rule)) for page in (expired, gone)]
            for answer in answers:
                require_refused(answer, "REASON_DRAFT_NOT_FOUND")
                assert answer.status == 404
            assert rest.without_trace(answers[0]) == rest.without_trace(answers[1])

        tried = [
            {"code": first["code"], "passcode": first["passcode"]},  # expired
            {"code": second["code"], "passcode": second["passcode"]},  # gone
            {"code": third["code"], "passcode": first["passcode"]},  # another's
            {"code": "HH-00000000", "passcode": third["passcode"]},  # never was
            {"code": "Kaninchen", "passcode": "Kaninchen"},  # nothing of the kind
        ]
        resumed = [await live.call("POST", "/v1/portal/sessions:resume", body) for body in tried]
    for answer in resumed:
        require_refused(answer, NOT_ACCEPTED)
        assert rest.without_trace(answer) == rest.without_trace(resumed[0])
        assert "set-cookie" not in answer.headers


async def test_session_opens_its_own_draft_whatever_the_body_names(machine: Machine, applicant: Page) -> None:
    """SES-01, DRF-12: an application id in a body opens nothing."""
    async with rest.portal_page(machine) as other:
        started = await rest.start(other, machine)
        named = {"applicationId": started["applicationId"], "application_id": started["applicationId"]}
        saved = await applicant.call("PUT", "/v1/portal/draft", {**rest.save(7), **named})
        draft = (await other.call("GET", "/v1/portal/draft")).json()

    assert (saved.status, rest.reason(saved)) == (409, "REASON_REVISION_STALE")
    assert draft["revision"] == "0"
