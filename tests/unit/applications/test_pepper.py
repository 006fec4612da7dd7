"""Encryption under the pepper."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest

from services.applications.domain.pepper import Pepper
from services.chassis.envelope import KeyRing, UnknownKeyError, UnsealError
from services.kernel.secret import Secret
from tests.applications import key_ring

OWNER = uuid.UUID(int=1)
SECRET = Secret(b"s" * 32)


def pepper(*kids: str) -> Pepper:
    return Pepper(KeyRing.parse(key_ring(*kids).reveal()))


def test_a_secret_opens_for_its_owner_and_its_use() -> None:
    """DRF-11: copied to another row, or from verifier to share, or changed by a bit, it does not open."""
    ring = pepper("k1")
    sealed = ring.seal_verifier(OWNER, SECRET)

    assert ring.open_verifier(OWNER, sealed).reveal() == SECRET.reveal()
    with pytest.raises(UnsealError):
        ring.open_verifier(uuid.UUID(int=2), sealed)
    with pytest.raises(UnsealError):
        ring.open_share(OWNER, sealed)
    for index in range(len(sealed.ciphertext)):
        changed = bytearray(sealed.ciphertext)
        changed[index] ^= 1
        with pytest.raises(UnsealError):
            ring.open_verifier(OWNER, replace(sealed, ciphertext=bytes(changed)))


def test_an_older_key_opens_what_it_sealed() -> None:
    """DRF-09: a new key becomes active before what the old one sealed is sealed again."""
    sealed = pepper("k1").seal_share(OWNER, SECRET)
    rotated = pepper("k2", "k1")

    assert rotated.open_share(OWNER, sealed).reveal() == SECRET.reveal()
    assert rotated.seal_share(OWNER, SECRET).kid == "k2"
    assert rotated.retired == ["k1"]
    with pytest.raises(UnknownKeyError):
        pepper("k2").open_share(OWNER, sealed)


def test_equal_secrets_do_not_look_alike() -> None:
    """DRF-09: two sealings of one secret differ, so that equal ones cannot be told."""
    ring = pepper("k1")

    assert ring.seal_verifier(OWNER, SECRET) != ring.seal_verifier(OWNER, SECRET)
