"""What anyone may read: the discovery document and the public keys."""

from __future__ import annotations

from typing import Final

from aiohttp import web

from services.identity.domain import issue
from services.identity.store.keys import KeyFolder

_CACHE: Final = {"Cache-Control": "public, max-age=60"}


def routes(issuer: str, keys: KeyFolder) -> list[web.RouteDef]:
    """Build the routes; endpoints in the document lie below `issuer`."""
    base = issuer.rstrip("/")
    document = {
        "issuer": issuer,
        "jwks_uri": f"{base}/jwks.json",
        "token_endpoint": f"{base}/token",
        "grant_types_supported": ["client_credentials"],
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        "response_types_supported": [],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["EdDSA"],
    }

    async def discovery(_: web.Request) -> web.Response:
        return web.json_response(document, headers=_CACHE)

    async def jwks(_: web.Request) -> web.Response:
        return web.json_response(issue.key_set(keys.present()), headers=_CACHE)

    return [web.get("/.well-known/openid-configuration", discovery), web.get("/jwks.json", jwks)]
