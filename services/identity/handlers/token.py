"""POST /token: the client credentials grant, with errors as RFC 6749 5.2 spells them."""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, unquote_plus

from aiohttp import web

from services.identity.domain import grant, issue
from services.identity.domain.grant import GrantRefused, IssueLimit
from services.identity.store.clients import ClientsFile
from services.identity.store.keys import KeyFolder
from services.kernel.clock import Clock

_log: Final = logging.getLogger(__name__)

BODY_MAX_BYTES: Final = 8_192
_READ_SECONDS: Final = 5.0
_FIELDS_MAX: Final = 16
_NO_STORE: Final = {"Cache-Control": "no-store", "Pragma": "no-cache"}
_STATUS: Final = {"invalid_client": 401, "temporarily_unavailable": 429}


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenHandler:
    """Answers token requests. `issuer` and `life_seconds` go into every token."""

    issuer: str
    life_seconds: int
    clients: ClientsFile
    keys: KeyFolder
    limit: IssueLimit
    clock: Clock

    async def answer(self, request: web.Request) -> web.Response:
        """Answer one request."""
        try:
            form = await _form(request)
            client_id, secret = _credentials(request.headers.get("Authorization"), form)
            client = grant.authenticate(self.clients.clients(), client_id, secret)
            grant.require_grant(form)
            audience = grant.require_audience(client, form)
            self.limit.take(client)
        except GrantRefused as refused:
            _log.info("token request refused", extra={"error": refused.error})
            return _refusal(refused)
        key = self.keys.present()[-1]
        token = issue.sign(key, self.issuer, client, audience, self.clock.now(), self.life_seconds)
        _log.info("token issued", extra={"client_id": client.client_id, "audience": audience, "kid": key.kid})
        answer = {"access_token": token, "token_type": "Bearer", "expires_in": self.life_seconds}
        return web.json_response(answer, headers=_NO_STORE)


async def _form(request: web.Request) -> dict[str, str]:
    """Read the body: a form of at most 8 KiB, each field once, within five seconds."""
    if request.content_type != "application/x-www-form-urlencoded":
        raise GrantRefused("invalid_request")
    try:
        async with asyncio.timeout(_READ_SECONDS):
            body = await request.read()
        fields = parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=True, max_num_fields=_FIELDS_MAX)
    except (TimeoutError, ValueError, web.HTTPRequestEntityTooLarge):
        raise GrantRefused("invalid_request") from None
    form = dict(fields)
    if len(form) != len(fields):
        raise GrantRefused("invalid_request")
    return form


def _credentials(header: str | None, form: Mapping[str, str]) -> tuple[str, str]:
    """Take client id and secret from the header or the form; both at once are refused (RFC 6749 2.3)."""
    if header is None:
        if "client_id" not in form or "client_secret" not in form:
            raise GrantRefused("invalid_client")
        return form["client_id"], form["client_secret"]
    if "client_secret" in form:
        raise GrantRefused("invalid_request")
    scheme, _, encoded = header.partition(" ")
    try:
        pair = base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise GrantRefused("invalid_client") from None
    client_id, colon, secret = pair.partition(":")
    if scheme.lower() != "basic" or not colon:
        raise GrantRefused("invalid_client")
    return unquote_plus(client_id), unquote_plus(secret)


def _refusal(refused: GrantRefused) -> web.Response:
    headers = dict(_NO_STORE)
    if refused.error == "invalid_client":
        headers["WWW-Authenticate"] = 'Basic realm="canopy"'
    if refused.retry_after is not None:
        headers["Retry-After"] = str(refused.retry_after)
    return web.json_response({"error": refused.error}, status=_STATUS.get(refused.error, 400), headers=headers)
