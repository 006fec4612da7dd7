"""What a draft must satisfy beyond the field options of its contract. Pure; a violation never holds a sent value."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from typing import Final

from canopy.applications.v1.draft_pb2 import DraftContent, Kdf, WrappedKey
from services.applications.config import FLOOR_KIB_PASSES
from services.kernel.errors import Violation

KDF_ID: Final = 1  # Argon2id 1.3, one lane
DEFAULT_MEMORY_KIB: Final = 65_536
DEFAULT_PASSES: Final = 3
AUTHENTICATOR_BYTES: Final = 16

_SMALL_BUCKET: Final = 4_096
_LARGE_BUCKET: Final = 16_384
_SMALL_BUCKETS_UP_TO: Final = 65_536
_LARGEST: Final = 262_144


def is_padded_length(length: int) -> bool:
    """Tell whether a padded plaintext may be this long: so few lengths exist that one says little about the content."""
    bucket = _SMALL_BUCKET if length <= _SMALL_BUCKETS_UP_TO else _LARGE_BUCKET
    return 0 < length <= _LARGEST and length % bucket == 0


def kdf_violations(kdf: Kdf) -> Iterator[Violation]:
    """Check a derivation that a device asks for: not cheaper to guess than the floor, and the salt is ours to mint."""
    if kdf.memory_kib * kdf.passes < FLOOR_KIB_PASSES:
        yield Violation(field="kdf.passes", rule="kdf_floor")
    if kdf.salt:
        yield Violation(field="kdf.salt", rule="must_be_empty")


def save_violations(
    expected_revision: int, content: DraftContent, wrapped_key: WrappedKey | None
) -> Iterator[Violation]:
    """Check a save before the draft is looked at."""
    if not is_padded_length(content.padded_len):
        yield Violation(field="content.padded_len", rule="padding_bucket")
    elif len(content.ciphertext) != content.padded_len + AUTHENTICATOR_BYTES:
        yield Violation(field="content.ciphertext", rule="padded_length")
    if expected_revision == 0 and wrapped_key is None:
        yield Violation(field="wrapped_key", rule="required")


def save_digest(expected_revision: int, content: DraftContent, wrapped_key: WrappedKey | None) -> bytes:
    """Return SHA-256 of everything that a save says, each part with its length: equal digests are equal saves."""
    hashed = hashlib.sha256(
        struct.pack(">QIII", expected_revision, content.enc_version, content.schema_version, content.padded_len)
    )
    wrapped = (wrapped_key.nonce, wrapped_key.ciphertext) if wrapped_key else (b"", b"")
    for part in (content.nonce, content.ciphertext, *wrapped):
        hashed.update(struct.pack(">Q", len(part)))
        hashed.update(part)
    return hashed.digest()
