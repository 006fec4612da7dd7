"""The draft encryption gives the same bytes for good, in every language (DRF-03)."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any
from uuid import UUID

import argon2.low_level
import nacl.bindings
import pytest

from services.cli.draft_crypto import (
    Context,
    Derivation,
    Sealed,
    master_key,
    open_content,
    pad,
    passcode_digits,
    unwrap_key,
    wrapping_key,
)

VECTORS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "vectors/draft_encryption.json").read_text())[
    "vectors"
]


def context(vector: dict[str, Any]) -> Context:
    return Context(
        application_id=UUID(vector["application_id"]),
        revision=vector["revision"],
        enc_version=vector["enc_version"],
        schema_version=vector["schema_version"],
    )


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: f"version-{v['enc_version']}-revision-{v['revision']}")
def test_every_layer_matches_the_vector(vector: dict[str, Any]) -> None:
    """DRF-03: derivation, subkey, wrapping, associated data and content equal the published vectors."""
    kdf = vector["kdf"]
    salt = bytes.fromhex(kdf["salt"])
    master = master_key(
        vector["passcode_typed"], Derivation(salt=salt, memory_kib=kdf["memory_kib"], passes=kdf["passes"])
    )
    bound = context(vector)
    wrapping = wrapping_key(master, bound, bytes.fromhex(vector["server_share"]))
    wrapped = Sealed(nonce=bytes.fromhex(vector["key_nonce"]), ciphertext=bytes.fromhex(vector["wrapped_key"]))
    draft_key = unwrap_key(wrapped, wrapping, bound)
    padded = pad(vector["plaintext_utf8"].encode())
    nonce = bytes.fromhex(vector["content_nonce"])
    ciphertext = nacl.bindings.crypto_aead_xchacha20poly1305_ietf_encrypt(
        padded, bound.content_aad(len(padded)), nonce, draft_key
    )

    assert passcode_digits(vector["passcode_typed"]).decode() == vector["passcode_digits"]
    assert master.hex() == vector["master_key"]
    assert wrapping.hex() == vector["wrapping_key"]
    assert bound.key_aad().hex() == vector["key_aad"]
    assert bound.content_aad(len(padded)).hex() == vector["content_aad"]
    assert draft_key.hex() == vector["draft_key"]
    assert len(padded) == vector["padded_len"]
    assert hashlib.sha256(ciphertext).hexdigest() == vector["ciphertext_sha256"]
    assert open_content(Sealed(nonce=nonce, ciphertext=ciphertext), draft_key, bound) == padded.rstrip(b"\0")[:-1]


@pytest.mark.parametrize("vector", VECTORS[:1], ids=["first"])
def test_a_second_implementation_derives_the_same_master_key(vector: dict[str, Any]) -> None:
    """DRF-03: the derivation is plain Argon2id 1.3, not a habit of one library."""
    kdf = vector["kdf"]

    other = argon2.low_level.hash_secret_raw(
        vector["passcode_digits"].encode(),
        bytes.fromhex(kdf["salt"]),
        time_cost=kdf["passes"],
        memory_cost=kdf["memory_kib"],
        parallelism=1,
        hash_len=32,
        type=argon2.low_level.Type.ID,
    )

    assert other.hex() == vector["master_key"]
