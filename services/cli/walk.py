"""The whole path of one household, over the real edge, with every step checked and told.

Draft on a phone, encrypted; save; log out; resume on another device by code and passcode; submit; submit again; read
the record as of two days through the staff edge; see what downstream was told. Raises WalkError at the first thing
that is off.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from redis.asyncio import Redis

from canopy.applications.v1.finalize_pb2 import FinalizeRequest
from canopy.applications.v1.finalize_service_pb2 import FilingReceipt
from canopy.events.v1.event_pb2 import Event
from canopy.persons.v1.households_service_pb2 import BatchGetHouseholdsRequest, BatchGetHouseholdsResponse
from canopy.persons.v1.person_pb2 import PersonName
from canopy.persons.v1.persons_service_pb2 import BatchGetPersonsRequest, BatchGetPersonsResponse
from canopy.portal.v1 import drafts_service_pb2
from canopy.portal.v1.applications_service_pb2 import Progress
from services.chassis.bus_redis import STREAM
from services.cli import filing
from services.cli.edge_client import EdgeClient, EdgeError, device
from services.cli.filing import Credentials, OpenDraft

Tell = Callable[[str, str], None]  # what happened, and a detail

EVENTS_MS: Final = 20_000  # longest wait for the next event


class WalkError(Exception):
    """Something is not as it must be; the text says what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Where to walk."""

    public_url: str
    staff_url: str
    ca_file: Path
    staff_token: str  # of a service that may read persons
    bus: Redis


async def walk(stage: Stage, form: FinalizeRequest, tell: Tell) -> FilingReceipt:
    """Take one household through everything; `tell` hears of each step as it happens."""
    before = await _position(stage.bus)
    credentials = await _draft(stage, form, tell)
    receipt = await _submit_elsewhere(stage, credentials, form, tell)
    members = await _read_back(stage, receipt, form, tell)
    await _see_events(stage, before, form, members, tell)
    return receipt


async def _draft(stage: Stage, form: FinalizeRequest, tell: Tell) -> Credentials:
    async with device(stage.public_url, stage.ca_file) as phone:
        credentials, draft = await filing.start(phone)
        tell("A draft is started", f"code {credentials.code}, passcode {credentials.passcode}, shown this once")
        first = FinalizeRequest(kind=form.kind, people=form.people[:1])
        draft = await filing.save(phone, draft, first)
        draft = await filing.save(phone, draft, form)
        held = await phone.call("GET", "/v1/portal/draft", None, drafts_service_pb2.GetDraftResponse)
        _require(held.revision == 2, "the draft was not saved twice")
        ciphertext = held.content.ciphertext
        name = form.people[0].details.name.given.encode()
        _require(name not in held.SerializeToString(), "the server holds a readable name")
        glimpse = ciphertext[:12].hex(" ")
        tell("Filled, encrypted on the device, saved twice", f"the server holds {len(ciphertext):,} bytes: {glimpse} …")
        await filing.log_out(phone)
        await _refused(filing.save(phone, draft, form), "REASON_SESSION_REQUIRED")
        tell("Logged out", "the old cookie opens nothing")
    return credentials


async def _submit_elsewhere(stage: Stage, credentials: Credentials, form: FinalizeRequest, tell: Tell) -> FilingReceipt:
    async with device(stage.public_url, stage.ca_file) as library:
        wrong = Credentials(code=credentials.code, passcode="0000-0000-0000")
        await _refused(filing.resume(library, wrong), "REASON_CREDENTIALS_NOT_ACCEPTED")
        await filing.resume(library, credentials)
        draft, resumed = await filing.load(library, credentials)
        _require(resumed == form, "the draft did not come back as it was saved")
        tell("Resumed on another device", "from code and passcode alone; decrypted there, every answer is back")
        receipt = await filing.submit(library, draft, resumed)
        tell("Submitted", f"received {receipt.received_at.ToJsonString()}, filing date {receipt.filing_date}")
        await _resubmit(library, draft, resumed, receipt, tell)
        status = await filing.status(library)
        _require(status.progress == Progress.PROGRESS_SUBMITTED, "the status does not say submitted")
        await filing.log_out(library)
    return receipt


async def _resubmit(
    library: EdgeClient, draft: OpenDraft, form: FinalizeRequest, receipt: FilingReceipt, tell: Tell
) -> None:
    again = await filing.submit(library, draft, form)
    _require(again == receipt, "a second submit gave another receipt")
    edited = FinalizeRequest()
    edited.CopyFrom(form)
    edited.people[0].details.name.given += "x"
    await _refused(filing.submit(library, draft, edited), "REASON_SUBMIT_DIFFERS")
    tell("Submitted again", "the same receipt; an edited form is refused: one draft is one filing")


async def _read_back(stage: Stage, receipt: FilingReceipt, form: FinalizeRequest, tell: Tell) -> int:
    """Check the record through the staff edge; returns the number of members."""
    basis = dt.date.fromisoformat(receipt.basis_date)
    async with device(stage.staff_url, stage.ca_file, token=stage.staff_token) as staff:

        async def households(day: dt.date) -> BatchGetHouseholdsResponse:
            request = BatchGetHouseholdsRequest(household_ids=[receipt.household_id], as_of=day.isoformat())
            return await staff.call("POST", "/v1/households:batchGet", request, BatchGetHouseholdsResponse)

        household = (await households(basis)).entries[0].state
        members = [person for person in form.people if person.HasField("member")]
        _require(len(household.members) == len(members), "members are missing")
        _require(len(household.incomes) == len(form.incomes), "incomes are missing")
        people = [member.person_id for member in household.members]
        request = BatchGetPersonsRequest(person_ids=people, as_of=basis.isoformat())
        found = await staff.call("POST", "/v1/persons:batchGet", request, BatchGetPersonsResponse)
        for entry, filed in zip(found.entries, members, strict=True):
            _require(entry.state.details == filed.details, "a person is not as filed")
        names = ", ".join(_full_name(entry.state.details.name) for entry in found.entries)
        tell(f"On record as of {basis}: {len(people)} members", names)
        before = (await households(basis - dt.timedelta(days=1))).entries[0]
        _require(before.WhichOneof("result") == "absent", "the household holds before its basis date")
        tell("A day earlier", "not yet valid: the record knows what held on which day")
    return len(people)


async def _see_events(stage: Stage, before: str, form: FinalizeRequest, members: int, tell: Tell) -> None:
    """Check what downstream was told since stream position `before`: each thing once, nothing personal."""
    expected = {
        "persons.person.recorded": len(form.people),
        "persons.household.recorded": 1,
        "persons.member.recorded": members,
        "persons.income.recorded": len(form.incomes),
        "applications.application.submitted": 1,
    }
    expected = {kind: count for kind, count in expected.items() if count}
    told: Counter[str] = Counter()
    name = form.people[0].details.name.given.encode()
    while told.total() < sum(expected.values()):
        answer: Any = await stage.bus.xread({STREAM: before}, count=1_000, block=EVENTS_MS)
        _require(bool(answer), f"downstream was told {dict(told)}, not {expected}")
        entries = answer[0][1]
        for _, fields in entries:
            _require(name not in fields[b"event"], "an event names a person")
            told[Event.FromString(fields[b"event"]).type] += 1
        before = entries[-1][0]
    _require(told == expected, f"downstream was told {dict(told)}, not {expected}")
    tell("Downstream was told", f"{told.total()} events, each once, ids only, none before the filing was certain")


def _full_name(name: PersonName) -> str:
    return " ".join(filter(None, (name.given, name.middle, name.family, name.suffix)))


async def _position(bus: Redis) -> str:
    """Return where the event stream ends now."""
    newest: Any = await bus.xrevrange(STREAM, count=1)
    return newest[0][0].decode() if newest else "0"


async def _refused(call: Awaitable[object], reason: str) -> None:
    """Demand that a call is refused for a reason of the catalogue."""
    try:
        await call
    except EdgeError as error:
        _require(error.reason == reason, f"refused for {error.reason}, expected {reason}")
    else:
        raise WalkError(f"was not refused: {reason} expected")


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise WalkError(otherwise)
