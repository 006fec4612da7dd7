"""Envelope encryption: data keys, the key ring, and what a ciphertext is bound to."""

from __future__ import annotations

import base64
import json
import uuid
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.chassis.envelope import KeyRing, KeyRingError, Place, UnknownKeyError, UnsealError, seal, unseal

OLD = bytes(range(32))
NEW = bytes(range(1, 33))


def ring(active: str = "k1", **keys: bytes) -> KeyRing:
    """Build a key ring; of one key where none are given."""
    return KeyRing(active, keys or {"k1": OLD})


def place(**changes: object) -> Place:
    """Build a place, the same one each time but for `changes`."""
    same = Place(table="person_versions", row_id=uuid.UUID(int=1), dek_id=uuid.UUID(int=2))
    return replace(same, **changes)


@given(st.binary(max_size=2_000))
def test_payload_opens_where_it_was_sealed(plain: bytes) -> None:
    """PER-05: what was sealed opens again, and its bytes are not the plain ones."""
    data_key = ring().mint()

    payload = seal(data_key.key, place(), plain)

    assert unseal(data_key.key, place(), payload) == plain
    assert len(payload) == len(plain) + 28
    assert len(plain) < 4 or plain not in payload


@pytest.mark.parametrize(
    "elsewhere",
    [place(table="household_versions"), place(row_id=uuid.UUID(int=3)), place(dek_id=uuid.UUID(int=3))],
    ids=["table", "row", "data key"],
)
def test_payload_moved_elsewhere_does_not_open(elsewhere: Place) -> None:
    """PER-05: table, version and data key are bound to a payload: moved, it does not open."""
    data_key = ring().mint()
    payload = seal(data_key.key, place(), b"Ana")

    with pytest.raises(UnsealError):
        unseal(data_key.key, elsewhere, payload)


def test_binding_gives_every_part_its_length() -> None:
    """PER-05: the binding is binary, each part behind its length, so that parts cannot flow into each other."""
    table, row = b"\x00\x00\x00\x01a", b"\x00\x00\x00\x10" + b"b" * 16

    binding = place(table="a", row_id=uuid.UUID(bytes=b"b" * 16)).binding()

    assert binding == b"\x00\x00\x00\x10canopy/payload/1" + table + row + b"\x00\x00\x00\x10" + uuid.UUID(int=2).bytes


@pytest.mark.parametrize("at", [0, 11, 12, -1])
def test_changed_payload_does_not_open(at: int) -> None:
    """PER-05: a changed nonce, text or tag is noticed."""
    data_key = ring().mint()
    payload = bytearray(seal(data_key.key, place(), b"Ana"))
    payload[at] ^= 1

    with pytest.raises(UnsealError):
        unseal(data_key.key, place(), bytes(payload))


@pytest.mark.parametrize("payload", [b"", b"\0" * 27])
def test_truncated_payload_does_not_open(payload: bytes) -> None:
    """PER-05: what is too short to be a payload is refused like a changed one."""
    with pytest.raises(UnsealError):
        unseal(OLD, place(), payload)


def test_equal_payloads_do_not_look_alike() -> None:
    """PER-05: two people of one name have unlike ciphertexts, under one data key too."""
    data_key = ring().mint()

    assert seal(data_key.key, place(), b"Ana") != seal(data_key.key, place(), b"Ana")


def test_each_write_mints_a_data_key_of_its_own() -> None:
    """PER-05: data keys and their ids are fresh, and are stored wrapped only."""
    one, other = ring().mint(), ring().mint()

    assert one.key != other.key
    assert one.dek_id != other.dek_id
    assert one.key not in one.wrapped
    assert repr(one.key) not in repr(one)


def test_wrapped_key_opens_under_its_id_only() -> None:
    """PER-05: a wrap belongs to its data key's id and its ring key; moved or changed it does not open."""
    keys = ring("k1", k1=OLD, k2=OLD)
    minted = keys.mint()

    assert keys.unwrap(minted.dek_id, "k1", minted.wrapped) == minted.key
    for dek_id, kid, wrapped in [
        (uuid.uuid4(), "k1", minted.wrapped),
        (minted.dek_id, "k2", minted.wrapped),
        (minted.dek_id, "k1", minted.wrapped[:-1] + bytes([minted.wrapped[-1] ^ 1])),
        (minted.dek_id, "k1", b""),
    ]:
        with pytest.raises(UnsealError):
            keys.unwrap(dek_id, kid, wrapped)


def test_rotation_wraps_with_the_new_key_and_opens_with_the_old() -> None:
    """PER-05: after a rotation new data keys name the new key, and what the old one wrapped still opens."""
    before = ring("k1", k1=OLD).mint()

    rotated = ring("k2", k1=OLD, k2=NEW)
    after = rotated.mint()

    assert (before.kid, after.kid) == ("k1", "k2")
    assert rotated.unwrap(before.dek_id, before.kid, before.wrapped) == before.key
    with pytest.raises(UnknownKeyError, match="k1"):
        ring("k2", k2=NEW).unwrap(before.dek_id, before.kid, before.wrapped)


def test_key_ring_file_is_read() -> None:
    """PER-05: the file names the active key and holds every key in base64."""
    content = json.dumps({"active": "2026-1", "keys": {"2026-1": base64.b64encode(OLD).decode()}}).encode()

    minted = KeyRing.parse(content).mint()

    assert minted.kid == "2026-1"
    assert ring("2026-1", **{"2026-1": OLD}).unwrap(minted.dek_id, minted.kid, minted.wrapped) == minted.key


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"[]",
        b"7",
        b'{"keys": {}}',
        b'{"active": "k1", "keys": []}',
        b'{"active": "k1", "keys": {}}',
        b'{"active": "k1", "keys": {"k1": "canary-canary!"}}',
        b'{"active": "k1", "keys": {"k1": 7}}',
        b'{"active": "k1", "keys": {"k1": "Y2FuYXJ5"}}',
        b'{"active": "k2", "keys": {"k1": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}}',
        b'{"active": "K 1", "keys": {"K 1": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}}',
    ],
)
def test_unusable_key_ring_is_refused_without_its_content(content: bytes) -> None:
    """PER-05: a broken key ring stops the start, and the message shows nothing of the file."""
    with pytest.raises(KeyRingError) as refused:
        KeyRing.parse(content)

    assert "canary" not in str(refused.value)
    assert "Y2Fu" not in str(refused.value)
    assert refused.value.__suppress_context__ or refused.value.__context__ is None
