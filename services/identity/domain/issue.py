"""What a token says, what the key set shows, and how keys follow one another."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import jwt
from jwt.algorithms import OKPAlgorithm

from services.identity.store.clients import Client
from services.identity.store.keys import KeyFolder, SigningKey

_ALGORITHM: Final = "EdDSA"


def sign(key: SigningKey, issuer: str, client: Client, audience: str, now: datetime, life_seconds: int) -> str:
    """Make the token that lets `client` call `audience` for `life_seconds` from `now`."""
    issued_at = int(now.timestamp())
    claims: dict[str, Any] = {
        "iss": issuer,
        "sub": client.client_id,
        "aud": audience,
        "azp": client.client_id,
        "roles": list(client.roles),
        "iat": issued_at,
        "nbf": issued_at,
        "exp": issued_at + life_seconds,
        "jti": str(uuid.uuid4()),
    }
    if client.service is not None:
        claims["service"] = client.service
    return jwt.encode(claims, key.private, algorithm=_ALGORITHM, headers={"kid": key.kid, "typ": "at+jwt"})


def key_set(keys: Sequence[SigningKey]) -> dict[str, Any]:
    """Publish the public halves (RFC 7517), newest first."""
    return {
        "keys": [
            OKPAlgorithm.to_jwk(key.private.public_key(), as_dict=True)
            | {"kid": key.kid, "use": "sig", "alg": _ALGORITHM}
            for key in reversed(keys)
        ]
    }


def rotate(folder: KeyFolder, now: datetime, retire_seconds: int) -> tuple[str, list[str]]:
    """Let a new key sign from now on and drop those that were replaced long enough ago; returns (new id, dropped).

    `retire_seconds` must exceed the life of a token, so that a token outlives no key that signed it.
    """
    kid = folder.add(now)
    return kid, folder.retire(now - timedelta(seconds=retire_seconds))
