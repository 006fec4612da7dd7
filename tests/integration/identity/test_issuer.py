"""The embedded issuer over real HTTP: discovery, keys, the token endpoint and rotation."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import jwt
import pytest

from services.identity.domain import issue
from services.identity.store.keys import KeyFolder, KeyFolderError
from tests import mesh
from tests.mesh import NO_ROLE, STEWARD, TEST_SERVICE, Issuer

AUDIENCE = "canopy-persons"


@pytest.fixture
async def issuer(tmp_path: Path) -> AsyncIterator[Issuer]:
    async with mesh.issuer(tmp_path / "identity", per_minute=6) as running:
        yield running


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


def good_form(**changes: str) -> dict[str, str]:
    return {"grant_type": "client_credentials", "audience": AUDIENCE, **changes}


def basic(issuer: Issuer, client_id: str = TEST_SERVICE) -> dict[str, str]:
    return {"Authorization": basic_header(client_id, issuer.client_secrets[client_id])}


def basic_header(client_id: str, secret: str) -> str:
    return f"Basic {base64.b64encode(f'{client_id}:{secret}'.encode()).decode()}"


async def keys_of(issuer: Issuer, http: aiohttp.ClientSession) -> list[dict[str, Any]]:
    async with http.get(f"{issuer.url}/jwks.json") as response:
        assert response.headers["Cache-Control"] == "public, max-age=60"
        return (await response.json())["keys"]


async def test_discovery_names_this_issuer_and_its_endpoints(issuer: Issuer, http: aiohttp.ClientSession) -> None:
    """MSH-06: everything about an issuer comes from its discovery document."""
    async with http.get(f"{issuer.url}/.well-known/openid-configuration") as response:
        document = await response.json()

    assert document["issuer"] == issuer.url
    assert document["jwks_uri"] == f"{issuer.url}/jwks.json"
    assert document["token_endpoint"] == f"{issuer.url}/token"


@pytest.mark.parametrize("method", ["basic", "post"])
async def test_token_says_who_may_call_whom_for_ten_minutes(
    issuer: Issuer, http: aiohttp.ClientSession, method: str
) -> None:
    """MSH-06: a token is for one audience, signed by a published key, and short-lived."""
    form, headers = good_form(), basic(issuer)
    if method == "post":
        form = good_form(client_id=TEST_SERVICE, client_secret=issuer.client_secrets[TEST_SERVICE])
        headers = {}

    async with http.post(f"{issuer.url}/token", data=form, headers=headers) as response:
        answer = await response.json()

    assert response.status == 200
    assert response.headers["Cache-Control"] == "no-store"
    assert answer["token_type"] == "Bearer"
    assert answer["expires_in"] == 600
    [key] = await keys_of(issuer, http)
    assert set(key) == {"kty", "crv", "x", "kid", "use", "alg"}
    claims = jwt.decode(answer["access_token"], jwt.PyJWK(key), issuer=issuer.url, audience=AUDIENCE)
    assert jwt.get_unverified_header(answer["access_token"])["kid"] == key["kid"]
    assert claims["exp"] - claims["iat"] == 600
    assert {name: claims[name] for name in ("sub", "azp", "service", "roles")} == {
        "sub": TEST_SERVICE,
        "azp": TEST_SERVICE,
        "service": TEST_SERVICE,
        "roles": ["service"],
    }
    assert {"nbf", "jti"} <= set(claims)


@pytest.mark.parametrize(("client_id", "roles"), [(STEWARD, ["data_steward"]), (NO_ROLE, [])])
async def test_token_of_a_client_that_is_no_service_has_no_service_claim(
    issuer: Issuer, http: aiohttp.ClientSession, client_id: str, roles: list[str]
) -> None:
    """MSH-04: the role of a service and its id come from the clients file, never from the request."""
    form = good_form(service=AUDIENCE, roles="service")

    async with http.post(f"{issuer.url}/token", data=form, headers=basic(issuer, client_id)) as response:
        token = (await response.json())["access_token"]

    claims = jwt.decode(token, options={"verify_signature": False})
    assert "service" not in claims
    assert claims["roles"] == roles


async def test_resource_of_rfc_8707_is_an_audience_too(issuer: Issuer, http: aiohttp.ClientSession) -> None:
    """MSH-06: clients of other issuers may use the standard word."""
    form = {"grant_type": "client_credentials", "resource": AUDIENCE}

    async with http.post(f"{issuer.url}/token", data=form, headers=basic(issuer)) as response:
        token = (await response.json())["access_token"]

    assert jwt.decode(token, options={"verify_signature": False})["aud"] == AUDIENCE


@pytest.mark.parametrize(
    ("form", "error"),
    [
        ({"grant_type": "client_credentials"}, "invalid_request"),
        ({"audience": AUDIENCE}, "invalid_request"),
        (good_form(grant_type="password"), "unsupported_grant_type"),
        (good_form(audience="canopy-elsewhere"), "invalid_target"),
        (good_form(resource="canopy-portal"), "invalid_target"),
        (good_form(scope="everything"), "invalid_scope"),
        (good_form(client_secret="also here"), "invalid_request"),
        ([*good_form().items(), ("audience", "canopy-portal")], "invalid_request"),
        (good_form(padding="x" * 9_000), "invalid_request"),
    ],
)
async def test_token_request_that_breaks_the_protocol_gets_an_oauth_error(
    issuer: Issuer, http: aiohttp.ClientSession, form: Any, error: str
) -> None:
    """MSH-06: refusals have the shape of RFC 6749 5.2 and hold nothing else."""
    async with http.post(f"{issuer.url}/token", data=form, headers=basic(issuer)) as response:
        answer = await response.json()

    assert (response.status, answer) == (400, {"error": error})


@pytest.mark.parametrize(
    "header",
    [
        None,
        "Basic !!!",
        "Bearer abc",
        basic_header(TEST_SERVICE, "wrong"),
        "Basic bm9ib2R5Og==",
        "Basic Og==",
    ],
)
async def test_wrong_client_gets_the_same_answer_for_every_cause(
    issuer: Issuer, http: aiohttp.ClientSession, header: str | None
) -> None:
    """MSH-06: unknown client, wrong secret and no credentials cannot be told apart."""
    headers = {"Authorization": header} if header else {}

    async with http.post(f"{issuer.url}/token", data=good_form(), headers=headers) as response:
        answer = await response.json()

    assert (response.status, answer) == (401, {"error": "invalid_client"})
    assert response.headers["WWW-Authenticate"] == 'Basic realm="canopy"'


async def test_client_over_its_limit_is_told_when_to_come_back_and_others_are_served(
    issuer: Issuer, http: aiohttp.ClientSession
) -> None:
    """MSH-17: one client that runs wild takes nothing from the others."""
    answers: list[tuple[int, str]] = []
    for _ in range(7):
        async with http.post(f"{issuer.url}/token", data=good_form(), headers=basic(issuer)) as response:
            answers.append((response.status, response.headers.get("Retry-After", "")))

    assert answers[:6] == [(200, "")] * 6
    status, retry_after = answers[6]
    assert status == 429
    assert 1 <= int(retry_after) <= 10
    async with http.post(f"{issuer.url}/token", data=good_form(), headers=basic(issuer, STEWARD)) as response:
        assert response.status == 200


def rotation_verb(environ: dict[str, str]) -> str:
    verb = [sys.executable, "-m", "services.identity.rotate"]
    return subprocess.run(verb, env={**os.environ, **environ}, check=True, capture_output=True, text=True).stdout


async def test_rotation_verb_is_seen_without_a_restart(issuer: Issuer, http: aiohttp.ClientSession) -> None:
    """MSH-06: after `python -m services.identity.rotate` the new key signs and the old one is still published."""
    [old] = await keys_of(issuer, http)
    environ = {"CANOPY_IDENTITY__SIGNING__FOLDER": str(issuer.config.signing.folder)}

    said = await asyncio.to_thread(rotation_verb, environ)

    new, still_there = await keys_of(issuer, http)
    assert still_there == old
    assert said == f"signs: {new['kid']}\n"
    async with http.post(f"{issuer.url}/token", data=good_form(), headers=basic(issuer)) as response:
        token = (await response.json())["access_token"]
    assert jwt.get_unverified_header(token)["kid"] == new["kid"]


async def test_client_secret_can_be_exchanged_without_a_restart(issuer: Issuer, http: aiohttp.ClientSession) -> None:
    """MSH-06: the clients file is read again when it is replaced."""
    async with http.post(f"{issuer.url}/token", data=good_form(), headers=basic(issuer, STEWARD)) as response:
        assert response.status == 200
    path = issuer.config.token.clients_path
    document = json.loads(path.read_text())
    document["clients"] = [client for client in document["clients"] if client["client_id"] != STEWARD]
    replacement = path.with_suffix(".new")
    replacement.write_text(json.dumps(document))
    replacement.rename(path)

    async with http.post(f"{issuer.url}/token", data=good_form(), headers=basic(issuer, STEWARD)) as response:
        assert response.status == 401


def test_retire_keeps_a_key_as_long_as_its_tokens_live(tmp_path: Path) -> None:
    """MSH-06: a key leaves the key set only when its successor is older than the retirement time."""
    folder = KeyFolder(tmp_path)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    first = folder.add(start)

    second, retired_at_once = issue.rotate(folder, start + timedelta(days=1), 3_600)
    third, retired_later = issue.rotate(folder, start + timedelta(days=1, seconds=3_601), 3_600)

    assert retired_at_once == []
    assert retired_later == [first]
    assert [key.kid for key in folder.present()] == [second, third]
    assert [path.stat().st_mode & 0o777 for path in tmp_path.iterdir()] == [0o600, 0o600]


def test_add_with_a_clock_behind_the_newest_key_is_refused(tmp_path: Path) -> None:
    """MSH-06: a key that would not sign is not made."""
    folder = KeyFolder(tmp_path)
    folder.add(datetime(2026, 1, 2, tzinfo=UTC))

    with pytest.raises(KeyFolderError, match="newer than the clock"):
        folder.add(datetime(2026, 1, 1, tzinfo=UTC))


def test_key_file_that_everyone_may_read_is_refused(tmp_path: Path) -> None:
    """MSH-06: a signing key is nobody else's."""
    kid = KeyFolder(tmp_path).add(datetime(2026, 1, 1, tzinfo=UTC))
    (tmp_path / f"{kid}.pem").chmod(0o644)

    with pytest.raises(KeyFolderError, match="mode must be 0600"):
        KeyFolder(tmp_path).present()
