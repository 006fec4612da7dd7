"""The HTTP side of an OpenID Connect issuer: discovery, key sets and token requests, bounded in time and size."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, cast
from urllib.parse import quote_plus

import aiohttp

_BODY_MAX_BYTES: Final = 262_144
_OAUTH_ERRORS: Final = frozenset(
    {
        "invalid_client",
        "invalid_grant",
        "invalid_request",
        "invalid_scope",
        "invalid_target",
        "unauthorized_client",
        "unsupported_grant_type",
    }
)


class IssuerUnavailable(Exception):
    """The issuer does not answer, or answers 5xx or 429. Worth another try."""


class IssuerRefused(Exception):
    """The issuer answered, and the answer is no, or not what the protocol says. `error` is its OAuth error code."""

    def __init__(self, error: str) -> None:
        self.error = error
        super().__init__(error)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoints:
    """What discovery tells of an issuer; both are absolute URLs."""

    jwks_uri: str
    token_endpoint: str


class IssuerClient:
    """Talks to one issuer. Redirects are not followed and no proxy of the environment is used."""

    def __init__(self, session: aiohttp.ClientSession, issuer: str) -> None:
        self._session = session
        self._issuer = issuer

    @classmethod
    @asynccontextmanager
    async def open(cls, issuer: str, timeout_seconds: float) -> AsyncIterator[IssuerClient]:
        """Open a client whose every request, connection to last byte, ends within `timeout_seconds`."""
        timeout = aiohttp.ClientTimeout(total=timeout_seconds)
        async with aiohttp.ClientSession(timeout=timeout, trust_env=False) as session:
            yield cls(session, issuer)

    async def discover(self) -> Endpoints:
        """Read the discovery document and check that it speaks for this very issuer."""
        document = await self._get(f"{self._issuer.rstrip('/')}/.well-known/openid-configuration")
        if document.get("issuer") != self._issuer:
            raise IssuerRefused("issuer_mismatch")
        return Endpoints(jwks_uri=self._url(document, "jwks_uri"), token_endpoint=self._url(document, "token_endpoint"))

    async def keys(self) -> list[Mapping[str, Any]]:
        """Fetch the JSON Web Key set; entries are not yet checked."""
        document = await self._get((await self.discover()).jwks_uri)
        keys = document.get("keys")
        if not isinstance(keys, list):
            raise IssuerRefused("malformed_key_set")
        return [cast("Mapping[str, Any]", key) for key in cast("list[object]", keys) if isinstance(key, dict)]

    async def client_credentials(self, client_id: str, secret: str, audience: str) -> tuple[str, float]:
        """Ask for a token for `audience`; returns it with its life in seconds."""
        endpoint = (await self.discover()).token_endpoint
        form = {"grant_type": "client_credentials", "audience": audience}
        pair = f"{quote_plus(client_id)}:{quote_plus(secret)}"  # RFC 6749 2.3.1 encodes both
        headers = {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
        document = await self._request("POST", endpoint, data=form, headers=headers)
        token, life = document.get("access_token"), document.get("expires_in")
        if not isinstance(token, str) or not isinstance(life, int | float) or life <= 0:
            raise IssuerRefused("malformed_token_response")
        return token, float(life)

    def _url(self, document: Mapping[str, Any], name: str) -> str:
        """Take an endpoint from the document. An https issuer may not send anyone to plain http."""
        url = document.get(name)
        scheme = self._issuer.partition(":")[0]
        if not isinstance(url, str) or not url.startswith(("https://", f"{scheme}://")):
            raise IssuerRefused("malformed_discovery")
        return url

    async def _get(self, url: str) -> dict[str, Any]:
        return await self._request("GET", url)

    async def _request(self, method: str, url: str, **kwargs: Any) -> dict[str, Any]:
        try:
            async with self._session.request(method, url, allow_redirects=False, **kwargs) as response:
                body = await self._bounded(response)
                status = response.status
        except (aiohttp.ClientError, TimeoutError) as error:
            raise IssuerUnavailable(type(error).__name__) from None
        if status >= 500 or status == 429:
            raise IssuerUnavailable(f"http_{status}")
        try:
            document: object = json.loads(body)
        except ValueError:
            document = None
        if not isinstance(document, dict):
            raise IssuerRefused(f"http_{status}")
        answer = cast("dict[str, Any]", document)
        if status != 200:
            error = answer.get("error")
            raise IssuerRefused(error if error in _OAUTH_ERRORS else f"http_{status}")
        return answer

    @staticmethod
    async def _bounded(response: aiohttp.ClientResponse) -> bytes:
        body = bytearray()
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > _BODY_MAX_BYTES:
                raise IssuerRefused("body_too_large")
        return bytes(body)
