"""Somebody else's issuer: any keys, counted and held requests. It shows that nothing depends on the embedded one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from services.chassis.http_server import serve_http


class ForeignIssuer:
    """A minimal OpenID Connect issuer. Clear `gate` to hold answers; the counters count requests."""

    def __init__(self) -> None:
        self.url = ""
        self.says_issuer: str | None = None
        self.keys: list[dict[str, Any]] = []
        self.token_answer: tuple[int, Any] = (200, None)
        self.life_seconds = 100
        self.fetches = 0
        self.grants = 0
        self.redirected = 0
        self.asked = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()

    async def discovery(self, _: web.Request) -> web.Response:
        return web.json_response(
            {
                "issuer": self.says_issuer or self.url,
                "jwks_uri": f"{self.url}/keys",
                "token_endpoint": f"{self.url}/token",
            }
        )

    async def key_set(self, _: web.Request) -> web.Response:
        self.fetches += 1
        self.asked.set()
        await self.gate.wait()
        return web.json_response({"keys": self.keys})

    async def token(self, request: web.Request) -> web.Response:
        self.grants += 1
        number = self.grants
        self.asked.set()
        audience = (await request.post())["audience"]
        await self.gate.wait()
        status, answer = self.token_answer
        granted = {"access_token": f"{audience}#{number}", "expires_in": self.life_seconds}
        headers = {"Location": f"{self.url}/elsewhere"} if status == 302 else None
        return web.json_response(granted if answer is None else answer, status=status, headers=headers)

    async def elsewhere(self, _: web.Request) -> web.Response:
        self.redirected += 1
        return web.json_response({"access_token": "stolen", "expires_in": 60})


@asynccontextmanager
async def foreign_issuer() -> AsyncIterator[ForeignIssuer]:
    """Run a foreign issuer on a free port."""
    issuer = ForeignIssuer()
    application = web.Application()
    application.add_routes(
        [
            web.get("/.well-known/openid-configuration", issuer.discovery),
            web.get("/keys", issuer.key_set),
            web.post("/token", issuer.token),
            web.route("*", "/elsewhere", issuer.elsewhere),
        ]
    )
    async with serve_http(application, "127.0.0.1", 0, grace_seconds=0.1) as port:
        issuer.url = f"http://127.0.0.1:{port}"
        yield issuer
        issuer.gate.set()
