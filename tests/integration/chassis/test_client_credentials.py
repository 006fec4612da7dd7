"""Getting tokens of one's own: one request for many callers, renewal beside the calls, failures by kind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.chassis.token_verifier import JwksVerifier
from services.chassis.tokens import ClientCredentials, CredentialsConfig, IssuerConfig
from services.kernel.errors import ClientError, ClientFailure
from services.kernel.secret import Secret
from tests import mesh
from tests.foreign_issuer import ForeignIssuer, foreign_issuer
from tests.mesh import TEST_SERVICE

AUDIENCE = "canopy-persons"
CREDENTIALS = CredentialsConfig(client_id="client", client_secret=Secret("a secret of some length"))


class Timer:
    """A monotonic clock that a test moves."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
async def foreign() -> AsyncIterator[ForeignIssuer]:
    async with foreign_issuer() as issuer:
        yield issuer


@pytest.fixture
def timer() -> Timer:
    return Timer()


@pytest.fixture
async def source(foreign: ForeignIssuer, timer: Timer) -> AsyncIterator[ClientCredentials]:
    config = IssuerConfig(url=foreign.url)
    async with ClientCredentials.open(config, CREDENTIALS, clock=timer) as opened:
        yield opened


async def test_token_of_the_embedded_issuer_is_accepted_by_its_audience(tmp_path: Path) -> None:
    """MSH-06: source, issuer and verifier agree over the wire."""
    async with mesh.issuer(tmp_path / "identity") as issuer:
        config = IssuerConfig(url=issuer.url)
        async with (
            ClientCredentials.open(config, issuer.credentials(TEST_SERVICE)) as source,
            JwksVerifier.open(config, AUDIENCE) as verifier,
        ):
            caller = await verifier.verify(await source.token(AUDIENCE))

    assert caller.service_id() == TEST_SERVICE
    assert caller.is_service


async def test_token_is_kept_per_audience(source: ClientCredentials, foreign: ForeignIssuer) -> None:
    """MSH-07: a call does not wait for the issuer as long as there is a token."""
    tokens = [await source.token(audience) for audience in ("a", "b", "a", "b")]

    assert tokens == ["a#1", "b#2", "a#1", "b#2"]
    assert foreign.grants == 2


async def test_token_asked_for_by_many_at_once_is_one_request(
    source: ClientCredentials, foreign: ForeignIssuer
) -> None:
    """MSH-07: a burst of calls makes one request, and a caller who gives up does not take it from the others."""
    foreign.gate.clear()
    calls = [asyncio.create_task(source.token("a")) for _ in range(20)]
    await foreign.asked.wait()

    calls[0].cancel()
    foreign.gate.set()
    tokens = await asyncio.gather(*calls[1:])

    assert set(tokens) == {"a#1"}
    assert foreign.grants == 1
    assert calls[0].cancelled()


async def test_token_is_renewed_beside_the_calls_from_80_percent_of_its_life(
    source: ClientCredentials, foreign: ForeignIssuer, timer: Timer
) -> None:
    """MSH-07: renewal delays no call, and an expired token is never handed out."""
    await source.token("a")
    timer.seconds += 79
    assert await source.token("a") == "a#1"
    assert not source._fetches.flying("a")

    timer.seconds += 1
    foreign.asked.clear()
    foreign.gate.clear()
    assert await source.token("a") == "a#1"
    await foreign.asked.wait()
    assert await source.token("a") == "a#1"
    foreign.gate.set()
    await source._fetches.start("a", lambda: source._fetch("a"))

    assert await source.token("a") == "a#2"
    assert foreign.grants == 2


async def test_token_stands_while_renewal_fails_and_the_failure_shows_at_its_end(
    source: ClientCredentials, foreign: ForeignIssuer, timer: Timer
) -> None:
    """MSH-07: an issuer that is down in between is not noticed; retries are a second apart."""
    await source.token("a")
    foreign.token_answer = (503, {"error": "down"})
    timer.seconds += 90
    foreign.asked.clear()
    await source.token("a")
    await asyncio.wait([source._fetches.start("a", lambda: source._fetch("a"))])
    assert await source.token("a") == "a#1"
    assert not source._fetches.flying("a")
    assert foreign.grants == 2

    timer.seconds += 10
    with pytest.raises(ClientError) as caught:
        await source.token("a")

    assert caught.value.kind is ClientFailure.TRANSIENT_EXHAUSTED
    assert not caught.value.may_have_happened


@pytest.mark.parametrize(
    ("status", "answer", "kind"),
    [
        (401, {"error": "invalid_client"}, ClientFailure.AUTH),
        (400, {"error": "invalid_target"}, ClientFailure.AUTH),
        (200, {"access_token": 7}, ClientFailure.AUTH),
        (200, ["nothing"], ClientFailure.AUTH),
        (302, {}, ClientFailure.AUTH),
        (429, {"error": "temporarily_unavailable"}, ClientFailure.TRANSIENT_EXHAUSTED),
        (500, {"error": "server_error"}, ClientFailure.TRANSIENT_EXHAUSTED),
    ],
)
async def test_token_refused_is_a_failure_by_kind_without_the_secret(
    source: ClientCredentials, foreign: ForeignIssuer, status: int, answer: object, kind: ClientFailure
) -> None:
    """MSH-07: a no of the issuer is AUTH, trouble of the issuer is transient, and the next call asks again."""
    foreign.token_answer = (status, answer)

    with pytest.raises(ClientError) as caught:
        await source.token("a")

    assert caught.value.kind is kind
    assert "secret" not in str(caught.value)
    assert foreign.redirected == 0
    foreign.token_answer = (200, None)
    assert await source.token("a") == "a#2"


async def test_token_from_an_issuer_that_does_not_answer_is_transient(foreign: ForeignIssuer) -> None:
    """MSH-07: no answer of the issuer can hold a call for longer than its timeout."""
    foreign.gate.clear()
    async with ClientCredentials.open(IssuerConfig(url=foreign.url, timeout_seconds=0.05), CREDENTIALS) as source:
        with pytest.raises(ClientError) as caught:
            await source.token("a")

    assert caught.value.kind is ClientFailure.TRANSIENT_EXHAUSTED


async def test_token_from_an_issuer_that_is_not_there_is_transient() -> None:
    """MSH-07: a refused connection is worth another try."""
    config = IssuerConfig(url=f"http://127.0.0.1:{mesh.free_port()}")
    async with ClientCredentials.open(config, CREDENTIALS) as source:
        with pytest.raises(ClientError) as caught:
            await source.token("a")

    assert caught.value.kind is ClientFailure.TRANSIENT_EXHAUSTED
