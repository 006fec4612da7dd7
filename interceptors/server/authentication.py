"""Who calls: the bearer token of a call becomes the current Caller."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Protocol

from canopy.errors.v1.reason_pb2 import Reason
from interceptors.server.chain import Call, Middleware, bounded
from services.kernel import caller as current_caller
from services.kernel.caller import Caller
from services.kernel.errors import Refusal
from services.kernel.policy import Access


class TokenVerifier(Protocol):
    """Tells whom a bearer token speaks for. It knows the issuer, its keys and the audience: the service's own id."""

    async def verify(self, token: str) -> Caller:
        """Return the caller.

        Raises Refusal: REASON_UNAUTHENTICATED, the same for every cause; REASON_UPSTREAM_UNAVAILABLE where the issuer's
        keys could not be had.
        """
        ...


def authentication(verifier: TokenVerifier, policies: Mapping[str, Access]) -> Middleware:
    """Verify the token of every method that is not public. Needs: status, deadline.

    A public method has no caller: a token on it is not even looked at, so that a stale one cannot break it.
    """

    @asynccontextmanager
    async def middleware(call: Call) -> AsyncIterator[None]:
        policy = policies.get(call.method)
        if policy is not None and policy.public:
            yield
            return
        async with bounded(call.deadline):  # keys may have to be fetched, and a stream is not cut off as a whole
            caller = await verifier.verify(_bearer(call.metadata))
        with current_caller.use(caller):
            yield

    return middleware


def _bearer(metadata: Mapping[str, str | bytes]) -> str:
    header = metadata.get("authorization")
    scheme, _, token = header.partition(" ") if isinstance(header, str) else ("", "", "")
    if scheme.lower() != "bearer" or not token.strip():
        raise Refusal(Reason.REASON_UNAUTHENTICATED)
    return token.strip()
