"""Verification of bearer tokens against an issuer's key set.

Any OpenID Connect issuer will do; everything about it comes from discovery. What a token's header says is never
followed: `kid` selects among the keys already fetched from the issuer, and `jku`, `x5u`, `jwk` are not looked at.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, cast

import jwt

from canopy.errors.v1.reason_pb2 import Reason
from services.chassis.background import Worker
from services.chassis.oidc import IssuerClient, IssuerRefused, IssuerUnavailable
from services.chassis.single_flight import SingleFlight
from services.chassis.tokens import IssuerConfig
from services.kernel.caller import Caller
from services.kernel.clock import Clock, SystemClock
from services.kernel.errors import Refusal

_log: Final = logging.getLogger(__name__)

_TOKEN_MAX_CHARS: Final = 8_192
_REQUIRED_CLAIMS: Final = ["iss", "sub", "aud", "exp", "nbf", "iat"]


class _NotAccepted(Exception):
    """A token does not stand; `rule` says why, for the log only."""

    def __init__(self, rule: str) -> None:
        self.rule = rule
        super().__init__(rule)


class JwksVerifier:
    """Turns a bearer token into a Caller. One per process; `audience` is the service's own id.

    An issuer that is down does not matter while its keys are known; they are used until it can be asked again.
    """

    def __init__(self, issuer: IssuerClient, config: IssuerConfig, audience: str, clock: Clock) -> None:
        self._issuer = issuer
        self._config = config
        self._audience = audience
        self._clock = clock
        self._key_set: list[Mapping[str, Any]] | None = None
        self._keys: Mapping[str, jwt.PyJWK] = {}
        self._fetches: SingleFlight[None, None] = SingleFlight()
        self._unknown_key_fetch_at = float("-inf")
        self._verified: OrderedDict[bytes, tuple[float, Caller]] = OrderedDict()

    @classmethod
    @asynccontextmanager
    async def open(
        cls, config: IssuerConfig, audience: str, *, clock: Clock | None = None
    ) -> AsyncIterator[JwksVerifier]:
        """Open a verifier and keep its key set fresh. An issuer that is down at start delays nothing.

        clock: for the expiry of remembered tokens; the machine's by default.
        """
        async with IssuerClient.open(config.url, config.timeout_seconds) as issuer:
            verifier = cls(issuer, config, audience, clock or SystemClock())
            try:
                async with Worker("key-set", config.refresh_seconds, verifier._refresh, drain_seconds=0):
                    yield verifier
            finally:
                await verifier._fetches.close()

    async def require_keys(self) -> None:
        """Raise LookupError until the issuer's keys are known: before that no token can be verified."""
        if self._key_set is None:
            raise LookupError("the issuer has not been reached yet")

    async def verify(self, token: str) -> Caller:
        """Return who the token speaks for.

        Raises Refusal: REASON_UNAUTHENTICATED, the same for every cause, or REASON_UPSTREAM_UNAVAILABLE when the
        issuer has never been reached.
        """
        try:
            return await self._verify(token)
        except _NotAccepted as refused:
            _log.info("token refused", extra={"rule": refused.rule})
            raise Refusal(Reason.REASON_UNAUTHENTICATED) from None

    async def _verify(self, token: str) -> Caller:
        if len(token) > _TOKEN_MAX_CHARS:
            raise _NotAccepted("too_long")
        fingerprint = hashlib.sha256(token.encode()).digest()
        remembered = self._verified.get(fingerprint)
        if remembered is not None:
            expires_at, caller = remembered
            if self._clock.now().timestamp() >= expires_at + self._config.leeway_seconds:
                del self._verified[fingerprint]
                raise _NotAccepted("expired")
            self._verified.move_to_end(fingerprint)
            return caller
        key = await self._key_of(token)
        claims = self._claims(token, key)
        caller = _caller(claims)
        if self._config.cache_size:
            self._verified[fingerprint] = (float(claims["exp"]), caller)
            if len(self._verified) > self._config.cache_size:
                self._verified.popitem(last=False)
        return caller

    async def _key_of(self, token: str) -> jwt.PyJWK:
        """Find the key that the header names among the issuer's keys, fetching them anew at most once."""
        try:
            header = jwt.get_unverified_header(token)
        except jwt.InvalidTokenError:
            raise _NotAccepted("malformed") from None
        if header.get("alg") not in self._config.algorithms:
            raise _NotAccepted("algorithm")
        kid = header.get("kid")
        if not isinstance(kid, str):
            raise _NotAccepted("no_key_id")
        if kid not in self._keys:
            await self._fetch_for_unknown_key()
        if self._key_set is None:
            raise Refusal(Reason.REASON_UPSTREAM_UNAVAILABLE)
        key = self._keys.get(kid)
        if key is None:
            raise _NotAccepted("unknown_key")
        return key

    def _claims(self, token: str, key: jwt.PyJWK) -> dict[str, Any]:
        try:
            return jwt.decode(
                token,
                key,
                algorithms=self._config.algorithms,
                audience=self._audience,
                issuer=self._config.url,
                leeway=self._config.leeway_seconds,
                options={"require": _REQUIRED_CLAIMS, "enforce_minimum_key_length": True},
            )
        except jwt.InvalidTokenError as error:
            raise _NotAccepted(type(error).__name__) from None

    async def _fetch_for_unknown_key(self) -> None:
        """Fetch the key set, unless unknown key ids have caused that a moment ago; join a fetch that is under way."""
        moment = time.monotonic()
        if moment - self._unknown_key_fetch_at >= self._config.unknown_key_seconds:
            self._unknown_key_fetch_at = moment
        elif not self._fetches.flying(None):
            return
        with contextlib.suppress(IssuerUnavailable, IssuerRefused):
            await self._refresh()

    async def _refresh(self) -> None:
        await self._fetches.run(None, self._fetch)

    async def _fetch(self) -> None:
        """Replace the key set by the issuer's present one; the old one stays when the issuer does not answer well."""
        try:
            key_set = await self._issuer.keys()
        except (IssuerUnavailable, IssuerRefused) as error:
            _log.warning("key set not refreshed", extra={"rule": str(error)})
            raise
        if key_set == self._key_set:
            return
        self._key_set, self._keys = key_set, _signature_keys(key_set, self._config.algorithms)
        self._verified.clear()
        _log.info("key set changed", extra={"keys": sorted(self._keys)})


def _signature_keys(key_set: list[Mapping[str, Any]], algorithms: tuple[str, ...]) -> dict[str, jwt.PyJWK]:
    """Pick the usable keys by id: for signatures, of an accepted algorithm, well formed."""
    keys: dict[str, jwt.PyJWK] = {}
    for entry in key_set:
        kid = entry.get("kid")
        if not isinstance(kid, str) or entry.get("use", "sig") != "sig":
            continue
        try:
            key = jwt.PyJWK(dict(entry))
        except (jwt.PyJWKError, jwt.InvalidKeyError):
            continue
        if key.algorithm_name in algorithms:
            keys[kid] = key
    return keys


def _caller(claims: Mapping[str, Any]) -> Caller:
    service, azp, roles = claims.get("service"), claims.get("azp"), claims.get("roles", [])
    if not (service is None or isinstance(service, str)) or not (azp is None or isinstance(azp, str)):
        raise _NotAccepted("claim_type")
    if not isinstance(roles, list) or not all(isinstance(role, str) for role in cast("list[object]", roles)):
        raise _NotAccepted("claim_type")
    return Caller(subject=claims["sub"], service=service, azp=azp, roles=frozenset(cast("list[str]", roles)))
