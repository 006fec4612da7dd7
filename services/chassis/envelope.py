"""Encryption at rest: every row has a key of its own, and that key is stored wrapped by a key of the key ring.

A data key (DEK) encrypts one payload; destroying it destroys exactly that payload. The ring's keys (KEK) wrap data keys
only, and never leave the process. What a ciphertext belongs to is bound to it as associated data: moved to another row,
table or data key it does not open.

Wraps use AES-256-GCM-SIV: one KEK wraps millions of keys under random 96-bit nonces, and a repeated nonce must not
matter. A payload is the only one under its key: ChaCha20-Poly1305, the fastest of the library for small records.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCMSIV, ChaCha20Poly1305

_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_TAG_BYTES: Final = 16
_KID: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_WRAP_LABEL: Final = b"canopy/dek/1"
_PAYLOAD_LABEL: Final = b"canopy/payload/1"


class KeyRingError(ValueError):
    """A key ring file cannot be used; the text says why and holds nothing of it."""


class UnsealError(Exception):
    """A wrap or payload does not open: wrong key, changed bytes, or moved from where it belongs."""


class UnknownKeyError(LookupError):
    """The key that wrapped a data key is not in the ring. The id of such a key is no secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataKey:
    """The key of one payload, in clear and as it is stored."""

    dek_id: uuid.UUID
    key: bytes = field(repr=False)  # 32 bytes
    kid: str  # of the ring's key that wrapped it
    wrapped: bytes = field(repr=False)  # nonce and ciphertext, 60 bytes


class KeyRing:
    """The keys that wrap data keys: one is active for new wraps, the others still open old ones."""

    def __init__(self, active: str, keys: Mapping[str, bytes]) -> None:
        """Take the ring. keys: 32 bytes each, by key id. Raises KeyRingError."""
        _require_usable(active, keys)
        self.active: Final = active
        self._ciphers: Final = {kid: AESGCMSIV(key) for kid, key in keys.items()}

    @classmethod
    def parse(cls, content: bytes) -> KeyRing:
        """Read the file's content: JSON {"active": id, "keys": {id: base64 of 32 bytes}}. Raises KeyRingError."""
        return cls(*read_ring(content))

    @property
    def inactive(self) -> list[str]:
        """The ids of the keys that only open what they sealed before another became active."""
        return sorted(kid for kid in self._ciphers if kid != self.active)

    def mint(self) -> DataKey:
        """Make a new data key, wrapped by the active key."""
        dek_id = uuid.uuid4()
        key = os.urandom(_KEY_BYTES)
        kid, wrapped = self.encrypt(_WRAP_LABEL, dek_id, key)
        return DataKey(dek_id=dek_id, key=key, kid=kid, wrapped=wrapped)

    def unwrap(self, dek_id: uuid.UUID, kid: str, wrapped: bytes) -> bytes:
        """Return the data key in clear. Raises UnknownKeyError, UnsealError."""
        return self.decrypt(_WRAP_LABEL, dek_id, kid, wrapped)

    def encrypt(self, label: bytes, owner: uuid.UUID, plain: bytes) -> tuple[str, bytes]:
        """Encrypt a small secret under the active key: its id, and nonce and ciphertext, 28 bytes longer than `plain`.

        label: what the secret is for; owner: the row it belongs to. Both are bound to it.
        """
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._ciphers[self.active].encrypt(nonce, plain, _bind(label, self.active.encode(), owner.bytes))
        return self.active, nonce + sealed

    def decrypt(self, label: bytes, owner: uuid.UUID, kid: str, sealed: bytes) -> bytes:
        """Return what `encrypt` took. Raises UnknownKeyError, UnsealError."""
        cipher = self._ciphers.get(kid)
        if cipher is None:
            raise UnknownKeyError(f"the key ring has no key {kid}")
        if len(sealed) < _NONCE_BYTES + _TAG_BYTES:
            raise UnsealError
        try:
            return cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], _bind(label, kid.encode(), owner.bytes))
        except InvalidTag:
            raise UnsealError from None


def read_ring(content: bytes) -> tuple[str, dict[str, bytes]]:
    """Read the file of a ring whose keys do not wrap: the id of the active key, and the keys. Raises KeyRingError."""
    try:
        ring: Any = json.loads(content)
        keys = {str(kid): base64.b64decode(text, validate=True) for kid, text in ring["keys"].items()}
        active = str(ring["active"])
    except (UnicodeDecodeError, json.JSONDecodeError, KeyError, TypeError, AttributeError, binascii.Error):
        raise KeyRingError('a key ring is JSON {"active": id, "keys": {id: base64 of 32 bytes}}') from None
    _require_usable(active, keys)
    return active, keys


def _require_usable(active: str, keys: Mapping[str, bytes]) -> None:
    if active not in keys:
        raise KeyRingError("the active key is not in the key ring")
    for kid, key in keys.items():
        if not _KID.fullmatch(kid):
            raise KeyRingError("a key id is 1 to 63 lower-case letters, digits and hyphens")
        if len(key) != _KEY_BYTES:
            raise KeyRingError(f"a key of the key ring has {_KEY_BYTES} bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a payload belongs."""

    table: str
    row_id: uuid.UUID  # for a versioned entity, of the version
    dek_id: uuid.UUID

    def binding(self) -> bytes:
        """Return the associated data: every part with its length, so that no two places give the same bytes."""
        return _bind(_PAYLOAD_LABEL, self.table.encode(), self.row_id.bytes, self.dek_id.bytes)


def seal(key: bytes, place: Place, plain: bytes) -> bytes:
    """Encrypt a payload under its own data key: nonce and ciphertext, 28 bytes longer than `plain`."""
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + ChaCha20Poly1305(key).encrypt(nonce, plain, place.binding())


def unseal(key: bytes, place: Place, payload: bytes) -> bytes:
    """Decrypt what `seal` made for this place. Raises UnsealError."""
    if len(payload) < _NONCE_BYTES + _TAG_BYTES:
        raise UnsealError
    try:
        return ChaCha20Poly1305(key).decrypt(payload[:_NONCE_BYTES], payload[_NONCE_BYTES:], place.binding())
    except InvalidTag:
        raise UnsealError from None


def _bind(*parts: bytes) -> bytes:
    return b"".join(len(part).to_bytes(4, "big") + part for part in parts)
