"""Drafts through the portal: the session says which draft it is, and own pages alone may change it (DRF-02, SES-07)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Awaitable, Callable

import pytest
from google.protobuf import json_format

from canopy.applications.v1.drafts_service_pb2 import CredentialScope
from canopy.errors.v1.reason_pb2 import Reason
from canopy.portal.v1.applications_service_pb2 import Progress
from canopy.portal.v1.drafts_service_pb2 import SaveDraftRequest
from tests.applications import content, wrapped_key
from tests.filings import filing
from tests.mesh import refused
from tests.portal import Browser


def save_request(expected_revision: int = 0) -> SaveDraftRequest:
    """Make a good save."""
    return SaveDraftRequest(
        expected_revision=expected_revision, save_id=str(uuid.uuid4()), content=content(), wrapped_key=wrapped_key()
    )


def submit_body(expected_revision: int = 1, **changes: object) -> bytes:
    """Make a good submit; `changes` are made to the JSON of the request."""
    request = {**json_format.MessageToDict(filing(2)), **changes}
    return json.dumps({"expectedRevision": expected_revision, "request": request}).encode()


async def test_a_draft_is_saved_and_loaded_as_it_was(phone: Browser) -> None:
    """DRF-02: ciphertext, nonce, wrapped key and derivation come back untouched, under the reserved application id."""
    started = await phone.start()
    request = save_request()

    saved = await phone.save(request)
    loaded = await phone.load()

    assert (saved.revision, loaded.revision) == (1, 1)
    assert loaded.content == request.content
    assert loaded.wrapped_key == request.wrapped_key
    assert loaded.kdf == started.kdf
    assert loaded.application_id == started.application_id


async def test_code_and_passcode_open_the_draft_on_another_device(phone: Browser, library: Browser) -> None:
    """DRF-01: what the start gave opens the same draft elsewhere, however it is typed."""
    started = await phone.start()
    await phone.save(save_request())

    typed = started.passcode.replace("-", " "), started.code.upper()
    resumed = await library.resume(typed[1], typed[0])

    assert resumed.session.scope == CredentialScope.CREDENTIAL_SCOPE_DRAFT
    assert (await library.load()).application_id == started.application_id


@pytest.mark.parametrize("kind", ["unknown code", "wrong passcode", "malformed"])
async def test_credentials_that_open_nothing_are_all_refused_alike(phone: Browser, library: Browser, kind: str) -> None:
    """DRF-01: every failure is the same failure, and gives no session."""
    started = await phone.start()
    code, passcode = {
        "unknown code": ("HH-00000000", started.passcode),
        "wrong passcode": (started.code, "0000-0000-0000"),
        "malformed": ("''; --", "x"),
    }[kind]

    with refused(Reason.REASON_CREDENTIALS_NOT_ACCEPTED):
        await library.resume(code, passcode)

    assert library.cookies == {}


async def test_two_devices_do_not_overwrite_each_other(phone: Browser, library: Browser) -> None:
    """DRF-04: the second save from the same revision is refused, with the revision to load."""
    started = await phone.start()
    await library.resume(started.code, started.passcode)
    await phone.save(save_request(0))

    with refused(Reason.REASON_REVISION_STALE):
        await library.save(save_request(0))


async def test_sessions_of_two_drafts_never_meet(phone: Browser, library: Browser) -> None:
    """DRF-02: there is no field in which to name another's draft; each session sees its own."""
    mine, theirs = await phone.start(), await library.start()
    await phone.save(save_request())

    assert (await phone.load()).application_id == mine.application_id
    assert (await library.load()).application_id == theirs.application_id
    assert (await library.load()).revision == 0


Change = Callable[[Browser], Awaitable[object]]
CHANGES: dict[str, Change] = {
    "start": lambda browser: browser.start(),
    "resume": lambda browser: browser.resume("HH-00000000", "0000-0000-0000"),
    "save": lambda browser: browser.save(save_request()),
    "submit": lambda browser: browser.submit(submit_body()),
    "withdraw": lambda browser: browser.withdraw(),
    "end": lambda browser: browser.end(),
}
FOREIGN: dict[str, dict[str, str]] = {
    "no origin": {},
    "null origin": {"origin": "null"},
    "another site": {"origin": "https://evil.example", "sec-fetch-site": "cross-site"},
    "cross-site by the browser's word": {"origin": "https://apply.example.gov", "sec-fetch-site": "cross-site"},
}


async def test_no_other_page_changes_anything(phone: Browser) -> None:
    """SES-07: every method that changes something refuses every request that is not from an own page."""
    await phone.start()
    own = phone.headers

    for phone.headers in FOREIGN.values():
        for change in CHANGES.values():
            with refused(Reason.REASON_ORIGIN_REFUSED):
                await change(phone)

    phone.headers = own
    assert (await phone.load()).revision == 0


async def test_nothing_is_changed_without_a_session(phone: Browser) -> None:
    """SES-01: no cookie, no draft; the body is not even looked at."""
    for name in ("save", "submit", "withdraw"):
        with refused(Reason.REASON_SESSION_REQUIRED):
            await CHANGES[name](phone)


async def test_a_submit_is_checked_before_anything_is_done(phone: Browser) -> None:
    """DRF-12: a broken filing names its fields and leaves the draft as it was, ready to be saved."""
    await phone.start()
    await phone.save(save_request())

    with refused(Reason.REASON_INVALID_FIELD):
        await phone.submit(submit_body(people=[]))
    with refused(Reason.REASON_UNKNOWN_FIELD):
        await phone.submit(submit_body(agreed=True))
    with refused(Reason.REASON_MALFORMED_BODY):
        await phone.submit(b"{")

    assert (await phone.save(save_request(1))).revision == 2
    assert (await phone.status()).progress == Progress.PROGRESS_DRAFT


async def test_a_submit_that_cannot_go_on_says_so_and_keeps_the_draft(phone: Browser) -> None:
    """FIN-06: with the persons service away a submit is unavailable for now; status says that one was begun."""
    await phone.start()
    await phone.save(save_request())

    with refused(Reason.REASON_UPSTREAM_UNAVAILABLE):
        await phone.submit(submit_body())

    assert (await phone.status()).progress == Progress.PROGRESS_SUBMITTING
    with refused(Reason.REASON_FINALIZE_IN_PROGRESS):
        await phone.save(save_request(1))
    assert (await phone.load()).revision == 1
