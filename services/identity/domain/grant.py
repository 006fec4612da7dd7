"""The client credentials grant (RFC 6749 4.4): who asks, what for, and whether that is allowed."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from services.identity.store.clients import Client

_NOBODY: Final = Client(client_id="", secret_sha256=(bytes(32),), service=None, roles=(), audiences=frozenset())


class GrantRefused(Exception):
    """The answer is no. `error` is the OAuth error code; `retry_after` (seconds) only where a retry helps."""

    def __init__(self, error: str, *, retry_after: int | None = None) -> None:
        self.error = error
        self.retry_after = retry_after
        super().__init__(error)


def authenticate(clients: Mapping[str, Client], client_id: str, secret: str) -> Client:
    """Return the client whose secret this is. Raises GrantRefused("invalid_client"), the same for every cause."""
    client = clients.get(client_id, _NOBODY)
    digest = hashlib.sha256(secret.encode()).digest()
    matches = [hmac.compare_digest(digest, known) for known in client.secret_sha256]
    if client is _NOBODY or not any(matches):
        raise GrantRefused("invalid_client")
    return client


def require_grant(form: Mapping[str, str]) -> None:
    """Demand the one grant there is, and no scope: roles are the client's own, never asked for."""
    if "grant_type" not in form:
        raise GrantRefused("invalid_request")
    if form["grant_type"] != "client_credentials":
        raise GrantRefused("unsupported_grant_type")
    if form.get("scope"):
        raise GrantRefused("invalid_scope")


def require_audience(client: Client, form: Mapping[str, str]) -> str:
    """Return the one audience that the form asks for. Raises GrantRefused when it is missing or not allowed.

    `audience` is this issuer's own word; `resource` is that of RFC 8707. Both together must agree.
    """
    asked = {form[name] for name in ("audience", "resource") if form.get(name)}
    if len(asked) != 1:
        raise GrantRefused("invalid_request" if not asked else "invalid_target")
    audience = asked.pop()
    if audience not in client.audiences:
        raise GrantRefused("invalid_target")
    return audience


@dataclass(slots=True)
class _Bucket:
    """Tokens left, and when that was counted."""

    left: float
    at: float


class IssueLimit:
    """At most `per_minute` tokens for each client, refilled evenly.

    Counts only clients that proved who they are, so nobody can use up another's share.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float]) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}

    def take(self, client: Client) -> None:
        """Count one token. Raises GrantRefused when the client's share of this minute is used up."""
        now = self._clock()
        bucket = self._buckets.setdefault(client.client_id, _Bucket(float(self._per_minute), now))
        per_second = self._per_minute / 60
        bucket.left = min(float(self._per_minute), bucket.left + (now - bucket.at) * per_second)
        bucket.at = now
        if bucket.left < 1:
            raise GrantRefused("temporarily_unavailable", retry_after=int((1 - bucket.left) / per_second) + 1)
        bucket.left -= 1
