"""The edge as a browser or a staff program sees it: JSON over TLS, a session in a cookie or a bearer token."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import aiohttp
from google.protobuf import json_format
from google.protobuf.message import Message

M = TypeVar("M", bound=Message)

TIMEOUT_SECONDS: Final = 90.0


class EdgeError(Exception):
    """The edge or a service behind it refused. `reason` is a name of the catalogue where there is one."""

    def __init__(self, status: int, reason: str, fields: list[str], retry_after: str) -> None:
        """status: HTTP. fields: "path: rule" of each broken field. retry_after: seconds, empty where no retry helps."""
        super().__init__(f"HTTP {status} {reason}" + (f" ({', '.join(fields)})" if fields else ""))
        self.status = status
        self.reason = reason
        self.fields = fields
        self.retry_after = retry_after


class EdgeClient:
    """One device: its cookies, or its token, are its own. Every call raises EdgeError on a refusal."""

    def __init__(self, http: aiohttp.ClientSession, url: str) -> None:
        self._http = http
        self._url = url

    async def call(self, method: str, path: str, request: Message | None, answer: type[M]) -> M:
        """Send a message as JSON and read the answer."""
        body = json_format.MessageToJson(request).encode() if request is not None else None
        headers = {"content-type": "application/json"} if body is not None else {}
        async with self._http.request(method, self._url + path, data=body, headers=headers) as response:
            content = await response.read()
            if response.status >= 400:
                raise _refusal(response, content)
            return json_format.Parse(content, answer())


@asynccontextmanager
async def device(url: str, ca_file: Path | None, *, token: str = "") -> AsyncIterator[EdgeClient]:
    """Open a device with no cookies.

    url: https://host:port. ca_file: the edge's authority, where it is not public. token: of a staff caller.
    """
    trust = ssl.create_default_context(cafile=str(ca_file) if ca_file else None)
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=trust),
        cookie_jar=aiohttp.CookieJar(unsafe=True),  # hosts that are addresses keep cookies too
        headers={"origin": url} | ({"authorization": f"Bearer {token}"} if token else {}),
        timeout=aiohttp.ClientTimeout(total=TIMEOUT_SECONDS),
    ) as http:
        yield EdgeClient(http, url)


def _refusal(response: aiohttp.ClientResponse, content: bytes) -> EdgeError:
    """Read google.rpc details from an error body; one that is none of ours has no reason."""
    reason, fields = "", []
    try:
        details: list[dict[str, Any]] = json.loads(content).get("details", [])
    except (ValueError, AttributeError):
        details = []
    for detail in details:
        reason = detail.get("reason", reason)
        fields += [f"{said['field']}: {said['description']}" for said in detail.get("fieldViolations", [])]
    return EdgeError(response.status, reason, fields, response.headers.get("retry-after", ""))
