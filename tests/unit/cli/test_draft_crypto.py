"""Drafts open with the right passcode, for the right draft and revision, and in no other way (DRF-03)."""

from __future__ import annotations

import dataclasses
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.cli import draft_crypto
from services.cli.draft_crypto import Context, Derivation, DraftCryptoError, Sealed

KEY = bytes(range(32))
CONTEXT = Context(application_id=UUID(int=7), revision=3)


@given(plaintext=st.binary(max_size=70_000))
def test_content_comes_back_and_its_length_says_only_the_bucket(plaintext: bytes) -> None:
    """DRF-04: what is sealed opens again; the ciphertext is a padding bucket and the tag."""
    sealed = draft_crypto.seal_content(plaintext, KEY, CONTEXT)

    assert draft_crypto.open_content(sealed, KEY, CONTEXT) == plaintext
    bucket = len(sealed.ciphertext) - draft_crypto.TAG_BYTES
    assert bucket % (4096 if bucket <= 65_536 else 16_384) == 0
    assert bucket > len(plaintext)


@pytest.mark.parametrize(
    "other",
    [
        dataclasses.replace(CONTEXT, application_id=UUID(int=8)),
        dataclasses.replace(CONTEXT, revision=2),
        dataclasses.replace(CONTEXT, schema_version=2),
        dataclasses.replace(CONTEXT, enc_version=2),
    ],
    ids=["draft", "revision", "schema", "version"],
)
def test_content_of_another_context_does_not_open(other: Context) -> None:
    """DRF-03: a blob moved between drafts, revisions or versions is refused."""
    sealed = draft_crypto.seal_content(b"{}", KEY, CONTEXT)

    with pytest.raises(DraftCryptoError):
        draft_crypto.open_content(sealed, KEY, other)


@given(position=st.integers(min_value=0), flip=st.integers(min_value=1, max_value=255))
def test_a_changed_byte_does_not_open(position: int, flip: int) -> None:
    """DRF-03: any changed byte of nonce or ciphertext is noticed."""
    sealed = draft_crypto.seal_content(b"household of four", KEY, CONTEXT)
    whole = bytearray(sealed.nonce + sealed.ciphertext)
    whole[position % len(whole)] ^= flip
    changed = Sealed(nonce=bytes(whole[:24]), ciphertext=bytes(whole[24:]))

    with pytest.raises(DraftCryptoError):
        draft_crypto.open_content(changed, KEY, CONTEXT)


def test_every_save_has_a_fresh_nonce() -> None:
    """DRF-03: no nonce is used twice, also for the same content."""
    nonces = {draft_crypto.seal_content(b"{}", KEY, CONTEXT).nonce for _ in range(1000)}

    assert len(nonces) == 1000


def test_the_draft_key_survives_a_new_revision_and_not_another_draft() -> None:
    """DRF-03: the wrapped key is bound to its draft and outlives revisions."""
    wrapped = draft_crypto.wrap_key(KEY, bytes(32), CONTEXT)

    assert draft_crypto.unwrap_key(wrapped, bytes(32), dataclasses.replace(CONTEXT, revision=99)) == KEY
    with pytest.raises(DraftCryptoError):
        draft_crypto.unwrap_key(wrapped, bytes(32), dataclasses.replace(CONTEXT, application_id=UUID(int=8)))


@pytest.mark.parametrize(
    "derivation",
    [
        Derivation(salt=bytes(16), memory_kib=32 * 1024, passes=5),
        Derivation(salt=bytes(16), memory_kib=16 * 1024, passes=24),
        Derivation(salt=bytes(8)),
        Derivation(salt=bytes(16), memory_kib=2 * 1024 * 1024),
        Derivation(salt=bytes(16), passes=1000),
    ],
    ids=["cheap", "small", "short-salt", "huge", "endless"],
)
def test_a_derivation_out_of_bounds_is_refused(derivation: Derivation) -> None:
    """DRF-09: a tampered server can neither weaken the derivation nor hang the device with it."""
    with pytest.raises(DraftCryptoError):
        draft_crypto.master_key("0000-0000-0000", derivation)


@pytest.mark.parametrize(
    "typed", ["0123-4567-8901", "0123 4567 8901", "012345678901", "٠١٢٣٤٥٦٧٨٩٠١", "０１２３４５６７８９０１"]
)
def test_a_passcode_is_its_digits_however_it_is_typed(typed: str) -> None:
    """DRF-03: separators and the script of the digits do not matter."""
    assert draft_crypto.passcode_digits(typed) == b"012345678901"


def test_a_draft_larger_than_the_largest_bucket_is_refused() -> None:
    """DRF-04: 256 KiB is the largest draft, the padding mark included."""
    assert draft_crypto.padded_len(256 * 1024 - 1) == 256 * 1024
    with pytest.raises(DraftCryptoError):
        draft_crypto.padded_len(256 * 1024)
