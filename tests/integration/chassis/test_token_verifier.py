"""Verification of tokens against an issuer's keys: the attacks, rotation, and life without the issuer."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from canopy.errors.v1.reason_pb2 import Reason
from services.chassis.token_verifier import JwksVerifier
from services.chassis.tokens import IssuerConfig
from services.kernel.errors import Refusal
from tests import mesh
from tests.foreign_issuer import foreign_issuer
from tests.mesh import TEST_SERVICE, Issuer, refused

AUDIENCE = "canopy-persons"
STRANGER = Ed25519PrivateKey.generate()


@pytest.fixture
async def issuer(tmp_path: Path) -> AsyncIterator[Issuer]:
    async with mesh.issuer(tmp_path / "identity") as running:
        yield running


@pytest.fixture
async def verifier(issuer: Issuer) -> AsyncIterator[JwksVerifier]:
    async with JwksVerifier.open(IssuerConfig(url=issuer.url, unknown_key_seconds=0.0), AUDIENCE) as opened:
        yield opened


class SteppedClock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.instant = datetime.now(UTC)

    def now(self) -> datetime:
        return self.instant


def segment(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def signed_with_public_key(issuer: Issuer, form: Callable[[Ed25519PrivateKey], bytes]) -> str:
    """Forge an HS256 token whose HMAC key is the issuer's public key, which everybody knows."""
    key = issuer.keys.present()[-1]
    text = f"{segment({'alg': 'HS256', 'kid': key.kid})}.{segment(issuer.claims(AUDIENCE))}"
    mac = hmac.new(form(key.private), text.encode(), hashlib.sha256).digest()
    return f"{text}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


def unsigned(issuer: Issuer, algorithm: str) -> str:
    return f"{segment({'alg': algorithm, 'kid': issuer.keys.present()[-1].kid})}.{segment(issuer.claims(AUDIENCE))}."


def of_stranger(issuer: Issuer, **headers: object) -> str:
    return jwt.encode(issuer.claims(AUDIENCE), STRANGER, algorithm="EdDSA", headers=headers)


def tampered(issuer: Issuer) -> str:
    header, _, signature = issuer.mint(issuer.claims(AUDIENCE)).split(".")
    return f"{header}.{segment(issuer.claims(AUDIENCE, roles=['service', 'data_steward']))}.{signature}"


def seconds_from_now(seconds: int) -> int:
    return int(datetime.now(UTC).timestamp()) + seconds


ATTACKS: dict[str, Callable[[Issuer], str]] = {
    "empty": lambda issuer: "",
    "not a token": lambda issuer: "a.b.c",
    "not ascii": lambda issuer: "ä.ö.ü",
    "too long": lambda issuer: issuer.mint(issuer.claims(AUDIENCE, padding="x" * 9_000)),
    "alg none": lambda issuer: unsigned(issuer, "none"),
    "alg None": lambda issuer: unsigned(issuer, "None"),
    "no signature": lambda issuer: unsigned(issuer, "EdDSA"),
    "HS256 with the public key, raw": lambda issuer: signed_with_public_key(
        issuer, lambda key: key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    ),
    "HS256 with the public key, PEM": lambda issuer: signed_with_public_key(
        issuer, lambda key: key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    ),
    "other payload under a good signature": tampered,
    "wrong audience": lambda issuer: issuer.mint(issuer.claims("canopy-portal")),
    "audience only begins alike": lambda issuer: issuer.mint(issuer.claims(AUDIENCE + "-2")),
    "no audience": lambda issuer: issuer.mint(issuer.claims(AUDIENCE, aud=None)),
    "wrong issuer": lambda issuer: issuer.mint(issuer.claims(AUDIENCE, iss="http://127.0.0.1:1")),
    "no issuer": lambda issuer: issuer.mint(issuer.claims(AUDIENCE, iss=None)),
    "expired beyond the leeway": lambda issuer: issuer.mint(issuer.claims(AUDIENCE, exp=seconds_from_now(-6))),
    "no expiry": lambda issuer: issuer.mint(issuer.claims(AUDIENCE, exp=None)),
    "not yet valid": lambda issuer: issuer.mint(issuer.claims(AUDIENCE, nbf=seconds_from_now(60))),
    "no nbf": lambda issuer: issuer.mint(issuer.claims(AUDIENCE, nbf=None)),
    "issued in the future": lambda issuer: issuer.mint(issuer.claims(AUDIENCE, iat=seconds_from_now(60))),
    "no iat": lambda issuer: issuer.mint(issuer.claims(AUDIENCE, iat=None)),
    "no subject": lambda issuer: issuer.mint(issuer.claims(AUDIENCE, sub=None)),
    "roles that are no list": lambda issuer: issuer.mint(issuer.claims(AUDIENCE, roles="service")),
    "service that is no text": lambda issuer: issuer.mint(issuer.claims(AUDIENCE, service=["canopy-portal"])),
    "unknown key": lambda issuer: of_stranger(issuer, kid="20260101T000000000000Z-00000000"),
    "no key id": lambda issuer: of_stranger(issuer),
    "key id of another's key": lambda issuer: of_stranger(issuer, kid=issuer.keys.present()[-1].kid),
    "key id that is a path": lambda issuer: of_stranger(issuer, kid="../../../dev/null"),
    "key in the header": lambda issuer: of_stranger(
        issuer, kid="mine", jwk=OKPAlgorithm.to_jwk(STRANGER.public_key(), as_dict=True)
    ),
    "critical extension nobody knows": lambda issuer: issuer.mint(issuer.claims(AUDIENCE), crit=["exp"], exp=1),
}


@pytest.mark.parametrize("attack", ATTACKS)
async def test_verify_attack_is_refused_without_detail(issuer: Issuer, verifier: JwksVerifier, attack: str) -> None:
    """MSH-06: a token that does not stand is refused, and the refusal does not say why."""
    await verifier.verify(issuer.mint(issuer.claims(AUDIENCE)))
    token = ATTACKS[attack](issuer)

    with pytest.raises(Refusal) as caught:
        await verifier.verify(token)

    assert caught.value.reason == Reason.REASON_UNAUTHENTICATED
    assert str(caught.value) == "REASON_UNAUTHENTICATED"
    assert caught.value.metadata == {}
    assert caught.value.__cause__ is None


async def test_verify_good_token_gives_the_caller(issuer: Issuer, verifier: JwksVerifier) -> None:
    """MSH-06: the claims that decide access come through, and 5 seconds of clock difference are forgiven."""
    claims = issuer.claims(AUDIENCE, exp=seconds_from_now(-2), nbf=seconds_from_now(2), iat=seconds_from_now(2))

    caller = await verifier.verify(issuer.mint(claims))

    assert (caller.subject, caller.service, caller.azp) == (TEST_SERVICE, TEST_SERVICE, TEST_SERVICE)
    assert caller.roles == {"service"}


async def test_verify_azp_only_token_names_the_client_but_makes_no_service(
    issuer: Issuer, verifier: JwksVerifier
) -> None:
    """MSH-04: an azp that matches a service id does not give the role of a service."""
    claims = issuer.claims(AUDIENCE, azp="canopy-applications", service=None, roles=None)

    caller = await verifier.verify(issuer.mint(claims))

    assert caller.service_id() == "canopy-applications"
    assert not caller.is_service


async def test_verify_key_url_in_the_header_is_never_fetched(issuer: Issuer, verifier: JwksVerifier) -> None:
    """MSH-06: jku and x5u are not looked at, neither for a stranger's key nor beside a good one."""
    async with foreign_issuer() as elsewhere:
        elsewhere.keys = [OKPAlgorithm.to_jwk(STRANGER.public_key(), as_dict=True) | {"kid": "mine"}]
        urls = {"jku": f"{elsewhere.url}/keys", "x5u": f"{elsewhere.url}/keys"}

        with refused(Reason.REASON_UNAUTHENTICATED):
            await verifier.verify(of_stranger(issuer, kid="mine", **urls))
        caller = await verifier.verify(issuer.mint(issuer.claims(AUDIENCE), **urls))

        assert caller.subject == TEST_SERVICE
        assert elsewhere.fetches == 0


async def test_verify_key_rotated_in_is_accepted_at_once(issuer: Issuer, verifier: JwksVerifier) -> None:
    """MSH-06: a token of a new key makes the verifier look, and tokens of the old key still stand."""
    old = issuer.mint(issuer.claims(AUDIENCE))
    await verifier.verify(old)

    issuer.rotate()
    new = issuer.mint(issuer.claims(AUDIENCE))

    assert jwt.get_unverified_header(new)["kid"] != jwt.get_unverified_header(old)["kid"]
    assert (await verifier.verify(new)).subject == TEST_SERVICE
    assert (await verifier.verify(old)).subject == TEST_SERVICE


async def test_verify_token_of_a_retired_key_is_refused_even_if_remembered(
    issuer: Issuer, verifier: JwksVerifier
) -> None:
    """MSH-06: a change of the key set forgets every verified token."""
    old = issuer.mint(issuer.claims(AUDIENCE))
    await verifier.verify(old)

    issuer.rotate(retire=True)
    await verifier.verify(issuer.mint(issuer.claims(AUDIENCE)))

    with refused(Reason.REASON_UNAUTHENTICATED):
        await verifier.verify(old)


async def test_verify_remembered_token_expires(issuer: Issuer) -> None:
    """MSH-06: expiry is checked on every use of a token, not only on the first."""
    clock = SteppedClock()
    async with JwksVerifier.open(IssuerConfig(url=issuer.url), AUDIENCE, clock=clock) as verifier:
        token = issuer.mint(issuer.claims(AUDIENCE))
        await verifier.verify(token)
        clock.instant += timedelta(seconds=600)
        await verifier.verify(token)

        clock.instant += timedelta(seconds=6)

        with refused(Reason.REASON_UNAUTHENTICATED):
            await verifier.verify(token)


async def test_verify_remembers_a_bounded_number_of_tokens(issuer: Issuer) -> None:
    """MSH-17: tokens cannot fill the memory."""
    async with JwksVerifier.open(IssuerConfig(url=issuer.url, cache_size=3), AUDIENCE) as verifier:
        for _ in range(10):
            await verifier.verify(issuer.mint(issuer.claims(AUDIENCE)))

        assert len(verifier._verified) == 3


async def test_verify_goes_on_while_the_issuer_is_down(tmp_path: Path) -> None:
    """MSH-06: known keys are used as long as the issuer cannot be asked; unknown ones are refused as ever."""
    async with mesh.issuer(tmp_path / "identity") as issuer:
        config = IssuerConfig(url=issuer.url, unknown_key_seconds=0.0)
        opened = JwksVerifier.open(config, AUDIENCE)
        verifier = await opened.__aenter__()
        await verifier.verify(issuer.mint(issuer.claims(AUDIENCE)))

    try:
        assert (await verifier.verify(issuer.mint(issuer.claims(AUDIENCE)))).subject == TEST_SERVICE
        with refused(Reason.REASON_UNAUTHENTICATED):
            await verifier.verify(of_stranger(issuer, kid="unknown"))
        assert (await verifier.verify(issuer.mint(issuer.claims(AUDIENCE)))).subject == TEST_SERVICE
    finally:
        await opened.__aexit__(None, None, None)


async def test_verify_before_the_issuer_was_ever_reached_asks_to_come_back(tmp_path: Path) -> None:
    """MSH-06: without keys nothing can be said about a token; with the issuer's first answer it can."""
    async with mesh.issuer(tmp_path / "identity") as issuer:
        token = issuer.mint(issuer.claims(AUDIENCE))
    config = IssuerConfig(url=issuer.url, unknown_key_seconds=0.0)

    async with JwksVerifier.open(config, AUDIENCE) as verifier:
        with refused(Reason.REASON_UPSTREAM_UNAVAILABLE):
            await verifier.verify(token)
        with pytest.raises(LookupError):
            await verifier.require_keys()

        async with mesh.issuer(tmp_path / "identity", port=issuer.config.server.port):
            assert (await verifier.verify(token)).subject == TEST_SERVICE
        await verifier.require_keys()


async def test_issuer_is_exchanged_by_configuration(issuer: Issuer, tmp_path: Path) -> None:
    """MSH-06: whoever the configured URL discovers is believed, and nobody else."""
    async with (
        mesh.issuer(tmp_path / "other") as other,
        JwksVerifier.open(IssuerConfig(url=other.url), AUDIENCE) as verifier,
    ):
        assert (await verifier.verify(other.mint(other.claims(AUDIENCE)))).subject == TEST_SERVICE
        for foreign in (issuer.mint(issuer.claims(AUDIENCE)), issuer.mint(other.claims(AUDIENCE))):
            with refused(Reason.REASON_UNAUTHENTICATED):
                await verifier.verify(foreign)


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
async def test_issuer_with_other_algorithms_works_where_they_are_allowed(algorithm: str) -> None:
    """MSH-06: the list of algorithms is configuration; the default takes what other issuers sign with."""
    private: Any
    if algorithm == "RS256":
        private = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
        public = RSAAlgorithm.to_jwk(private.public_key(), as_dict=True)
    else:
        private = ec.generate_private_key(ec.SECP256R1())
        public = ECAlgorithm.to_jwk(private.public_key(), as_dict=True)
    now = seconds_from_now(0)
    async with foreign_issuer() as foreign:
        foreign.keys = [public | {"kid": "k1"}]
        claims = {"iss": foreign.url, "sub": "s", "aud": AUDIENCE, "iat": now, "nbf": now, "exp": now + 60}
        token = jwt.encode(claims, private, algorithm=algorithm, headers={"kid": "k1"})

        async with JwksVerifier.open(IssuerConfig(url=foreign.url), AUDIENCE) as verifier:
            assert (await verifier.verify(token)).subject == "s"
        async with JwksVerifier.open(IssuerConfig(url=foreign.url, algorithms=("EdDSA",)), AUDIENCE) as strict:
            with refused(Reason.REASON_UNAUTHENTICATED):
                await strict.verify(token)


async def test_shared_secret_among_the_keys_is_not_used() -> None:
    """MSH-06: even an issuer that publishes a symmetric key cannot make us take an HS256 token."""
    secret = b"0123456789abcdef0123456789abcdef"
    now = seconds_from_now(0)
    async with foreign_issuer() as foreign:
        encoded = base64.urlsafe_b64encode(secret).rstrip(b"=").decode()
        foreign.keys = [{"kty": "oct", "k": encoded, "kid": "k1"}]
        claims = {"iss": foreign.url, "sub": "s", "aud": AUDIENCE, "iat": now, "nbf": now, "exp": now + 60}
        token = jwt.encode(claims, secret, algorithm="HS256", headers={"kid": "k1"})

        async with JwksVerifier.open(IssuerConfig(url=foreign.url), AUDIENCE) as verifier:
            with refused(Reason.REASON_UNAUTHENTICATED):
                await verifier.verify(token)


async def test_discovery_that_speaks_for_another_issuer_is_not_believed() -> None:
    """MSH-06: the document must name the very issuer that was configured."""
    async with foreign_issuer() as foreign:
        foreign.says_issuer = "http://127.0.0.1:1"
        foreign.keys = [OKPAlgorithm.to_jwk(STRANGER.public_key(), as_dict=True) | {"kid": "mine"}]

        async with JwksVerifier.open(IssuerConfig(url=foreign.url), AUDIENCE) as verifier:
            with refused(Reason.REASON_UPSTREAM_UNAVAILABLE):
                await verifier.verify(jwt.encode({}, STRANGER, algorithm="EdDSA", headers={"kid": "mine"}))
        assert foreign.fetches == 0


async def test_unknown_keys_at_once_cause_one_fetch(issuer: Issuer) -> None:
    """MSH-06: whoever needs the key set while it is fetched shares that fetch."""
    async with (
        foreign_issuer() as foreign,
        JwksVerifier.open(IssuerConfig(url=foreign.url, unknown_key_seconds=0.0), AUDIENCE) as verifier,
    ):
        await foreign.asked.wait()
        await verifier._refresh()
        begun = foreign.fetches
        foreign.asked.clear()
        foreign.gate.clear()

        calls = [asyncio.create_task(verifier.verify(of_stranger(issuer, kid=f"k{n}"))) for n in range(20)]
        await foreign.asked.wait()
        foreign.gate.set()
        results = await asyncio.gather(*calls, return_exceptions=True)

        assert {type(result) for result in results} == {Refusal}
        assert foreign.fetches == begun + 1


async def test_unknown_keys_cause_few_fetches(issuer: Issuer) -> None:
    """MSH-17: made-up key ids cannot make a service flood its issuer."""
    async with (
        foreign_issuer() as foreign,
        JwksVerifier.open(IssuerConfig(url=foreign.url, unknown_key_seconds=300.0), AUDIENCE) as verifier,
    ):
        for number in range(20):
            with refused(Reason.REASON_UNAUTHENTICATED):
                await verifier.verify(of_stranger(issuer, kid=f"k{number}"))

        assert foreign.fetches <= 2
