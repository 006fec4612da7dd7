"""Says who we are: a bearer token for the service that is called, on every attempt."""

from __future__ import annotations

from typing import Any, Protocol

from interceptors.client.chain import Call, Middleware, Send


class TokenSource(Protocol):
    """Has tokens of our own, one per audience, and renews them in time."""

    async def token(self, audience: str) -> str:
        """Return a token for the service with id `audience`.

        Raises ClientError: AUTH where the issuer says no, TRANSIENT_EXHAUSTED where it does not answer.
        """
        ...


def credentials(service: str, tokens: TokenSource) -> Middleware:
    """Put a token for `service` on the attempt. Needs: deadline, since a token may have to be fetched."""

    async def middleware(call: Call, send: Send) -> Any:
        call.metadata["authorization"] = f"Bearer {await tokens.token(service)}"
        return await send()

    return middleware
