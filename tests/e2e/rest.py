"""The edge as browsers and programs of the staff call it: JSON, cookies, bearer tokens."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import secrets
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import aiohttp
from yarl import URL

from tests.e2e.edge_world import Answer
from tests.machine import Machine

Json = dict[str, Any]
Headers = dict[str, str]

PADDED: Final = 4096
TAG: Final = 16
CLAIMED: Final = "SELECT EXISTS (SELECT FROM finalize_operations WHERE operation_id = $1)"


class Page:
    """A page of a browser, or a program: it has cookies of its own and says where it comes from."""

    def __init__(self, session: aiohttp.ClientSession, url: str, headers: Headers) -> None:
        self.url = url
        self.headers = headers
        self._session = session

    async def call(
        self,
        verb: str,
        path: str,
        body: Any = None,
        *,
        data: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """Send one request; `body` goes as JSON, `data` as it is."""
        content = json.dumps(body).encode() if body is not None else data
        kind = {} if verb == "GET" else {"content-type": "application/json"}
        sent = {**self.headers, **kind, **(headers or {})}
        url = URL(self.url + path, encoded=True)
        async with self._session.request(verb, url, data=content, headers=sent) as response:
            return Answer(status=response.status, headers=response.headers, body=await response.read())

    def cookies(self) -> dict[str, str]:
        """Return the cookies that the page would send."""
        return {name: morsel.value for name, morsel in self._session.cookie_jar.filter_cookies(URL(self.url)).items()}

    def forget(self) -> None:
        """Drop the cookies."""
        self._session.cookie_jar.clear()


@asynccontextmanager
async def portal_page(machine: Machine) -> AsyncIterator[Page]:
    """Open a page of the portal in a browser with no cookies."""
    url = machine.address("public")
    async with _session(machine) as session:
        yield Page(session, url, {"origin": url, "sec-fetch-site": "same-origin"})


@asynccontextmanager
async def staff_program(machine: Machine, token: str) -> AsyncIterator[Page]:
    """Open a program that shows `token` to the staff listener; an empty one is not sent."""
    async with _session(machine) as session:
        yield Page(session, machine.address("staff"), {"authorization": f"Bearer {token}"} if token else {})


@asynccontextmanager
async def _session(machine: Machine) -> AsyncIterator[aiohttp.ClientSession]:
    connector = aiohttp.TCPConnector(ssl=machine.trust())
    async with aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        yield session


async def start(page: Page, machine: Machine) -> Json:
    """Start a draft; its passcode must never be seen again."""
    answer = await page.call("POST", "/v1/portal/drafts", {"requestId": str(uuid.uuid4())})
    assert answer.status == 201, answer.body
    started = answer.json()
    passcode = started["passcode"]
    machine.unspeakable.update({passcode, passcode.replace("-", ""), page.cookies()["__Host-sid"]})
    return started


@asynccontextmanager
async def submit_under_way(page: Page, machine: Machine, form: Json) -> AsyncIterator[asyncio.Task[Answer]]:
    """Start a draft and submit it; the block begins once the claim is durable. Yields the answer to come."""
    application_id = uuid.UUID((await start(page, machine))["applicationId"])
    sent = asyncio.create_task(page.call("POST", "/v1/portal/draft:submit", submit(form)))
    async with machine.database("canopy_applications") as db:
        while not sent.done() and not await db.fetchval(CLAIMED, application_id):
            pass
    try:
        yield sent
    finally:
        with contextlib.suppress(aiohttp.ClientError, OSError):
            await sent


def save(revision: int = 0, **changes: Any) -> Json:
    """Build the body of a save: as good as encrypted, for all that the server can tell."""
    content = {
        "encVersion": 1,
        "schemaVersion": 1,
        "paddedLen": PADDED,
        "nonce": noise(24),
        "ciphertext": noise(PADDED + TAG),
    }
    wrapped = {"nonce": noise(24), "ciphertext": noise(48)}
    body = {"expectedRevision": revision, "saveId": str(uuid.uuid4()), "content": content, "wrappedKey": wrapped}
    return {**body, **changes}


def submit(form: Json, revision: int = 0) -> Json:
    """Build the body of a submit."""
    return {"expectedRevision": revision, "request": form}


def noise(size: int) -> str:
    """Return random bytes as JSON spells them."""
    return base64.b64encode(secrets.token_bytes(size)).decode()


def reason(answer: Answer) -> str:
    """Return the name of the reason of a refusal; it must have the one shape."""
    body = answer.json()
    assert set(body) == {"code", "message", "details"}, body
    return next((detail["reason"] for detail in body["details"] if detail["@type"].endswith("ErrorInfo")), "")


def fields(answer: Answer) -> dict[str, str]:
    """Return each field that a refusal names, with the rule that it breaks ("" where none is said)."""
    named: dict[str, str] = {}
    for detail in answer.json()["details"]:
        if field := detail.get("metadata", {}).get("field"):
            named[field] = detail["metadata"].get("rule", "")
        named |= {said["field"]: said["description"] for said in detail.get("fieldViolations", [])}
    return named


def without_trace(answer: Answer) -> tuple[int, Any]:
    """Return status and body without what differs from call to call."""
    body = answer.json()
    for detail in body["details"]:
        detail.get("metadata", {}).pop("trace_id", None)
    return answer.status, body
