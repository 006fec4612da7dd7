"""The issuer that a service trusts, and tokens of the service's own from it (verification: token_verifier.py)."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import grpc

from services.chassis.config import knob
from services.chassis.oidc import IssuerClient, IssuerRefused, IssuerUnavailable
from services.chassis.single_flight import SingleFlight
from services.kernel.errors import ClientError, ClientFailure
from services.kernel.secret import Secret

_log: Final = logging.getLogger(__name__)

_ASYMMETRIC: Final = ("EdDSA", "ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
_LIFE_BEFORE_REFRESH: Final = 0.8
_SECONDS_BETWEEN_TOKEN_ATTEMPTS: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuerConfig:
    """The issuer whose tokens are accepted."""

    url: str = knob(doc="Issuer: the `iss` of every token and the base of discovery.", pattern=r"https?://[^?#]+")
    algorithms: tuple[str, ...] = knob(
        ("EdDSA", "ES256", "RS256"), choices=_ASYMMETRIC, lo=1, doc="Signature algorithms that are accepted."
    )
    leeway_seconds: float = knob(5.0, lo=0, hi=60, unit="s", doc="Clock difference that exp, nbf and iat tolerate.")
    refresh_seconds: float = knob(
        300.0, lo=1, hi=86_400, unit="s", doc="Age at which the key set is fetched again: how long a retired key lives."
    )
    unknown_key_seconds: float = knob(
        2.0, lo=0, hi=300, unit="s", doc="Shortest time between two fetches that unknown key ids cause."
    )
    timeout_seconds: float = knob(5.0, lo=0.1, hi=60, unit="s", doc="Longest wait for any answer of the issuer.")
    cache_size: int = knob(4_096, lo=0, hi=1_000_000, unit="tokens", doc="Verified tokens that are remembered.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialsConfig:
    """What a service shows the issuer to get tokens of its own."""

    client_id: str = knob(doc="Client id at the issuer.", lo=1, hi=256)
    client_secret: Secret[str] = knob(doc="Secret of that client.", lo=16)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """A token at hand; times are of the monotonic clock."""

    token: str
    refresh_at: float
    expires_at: float


class ClientCredentials:
    """Tokens of one's own, by the client credentials grant: one per audience, renewed before they expire.

    From 80 % of a token's life a new one is fetched beside the calls, which keep the old one as long as it stands.
    """

    def __init__(self, issuer: IssuerClient, config: CredentialsConfig, clock: Callable[[], float]) -> None:
        self._issuer = issuer
        self._config = config
        self._clock = clock
        self._held: dict[str, _Held] = {}
        self._attempted_at: dict[str, float] = {}
        self._fetches: SingleFlight[str, _Held] = SingleFlight()

    @classmethod
    @asynccontextmanager
    async def open(
        cls, issuer: IssuerConfig, config: CredentialsConfig, *, clock: Callable[[], float] = time.monotonic
    ) -> AsyncIterator[ClientCredentials]:
        """Open a source; nothing is fetched before the first token is asked for."""
        async with IssuerClient.open(issuer.url, issuer.timeout_seconds) as client:
            source = cls(client, config, clock)
            try:
                yield source
            finally:
                await source._fetches.close()

    async def token(self, audience: str) -> str:
        """Return a token for the service `audience`.

        Raises ClientError: AUTH when the issuer says no, TRANSIENT_EXHAUSTED when it does not answer.
        """
        now = self._clock()
        held = self._held.get(audience)
        if held is None or now >= held.expires_at:
            return (await self._fetches.run(audience, lambda: self._fetch(audience))).token
        if now >= max(held.refresh_at, self._attempted_at[audience] + _SECONDS_BETWEEN_TOKEN_ATTEMPTS):
            self._fetches.start(audience, lambda: self._fetch(audience))
        return held.token

    async def _fetch(self, audience: str) -> _Held:
        began = self._clock()
        self._attempted_at[audience] = began
        secret = self._config.client_secret.reveal()
        try:
            token, life = await self._issuer.client_credentials(self._config.client_id, secret, audience)
        except IssuerRefused as error:
            raise self._failed(ClientFailure.AUTH, audience, str(error)) from None
        except IssuerUnavailable as error:
            raise self._failed(ClientFailure.TRANSIENT_EXHAUSTED, audience, str(error)) from None
        held = _Held(token=token, refresh_at=began + _LIFE_BEFORE_REFRESH * life, expires_at=began + life)
        self._held[audience] = held
        return held

    @staticmethod
    def _failed(kind: ClientFailure, audience: str, rule: str) -> ClientError:
        _log.warning("no token from the issuer", extra={"audience": audience, "rule": rule})
        code = grpc.StatusCode.UNAUTHENTICATED if kind is ClientFailure.AUTH else grpc.StatusCode.UNAVAILABLE
        return ClientError(kind, method="token", code=code.value[0], may_have_happened=False)
