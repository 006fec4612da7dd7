"""Encrypt and open drafts on the applicant's device (ADR-026): what the browser does, in Python.

Key hierarchy of enc_version 1: passcode → Argon2id → master key → subkey that wraps a random per-draft
key → XChaCha20-Poly1305 of each save. A new passcode re-wraps the draft key and re-encrypts nothing.
enc_version 2 mixes a share that the server holds into the wrapping key. docs/draft-encryption.md gives
the byte layouts; tests/contract/vectors/draft_encryption.json holds vectors for other languages.
"""

from __future__ import annotations

import hashlib
import struct
import unicodedata
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import nacl.bindings
import nacl.exceptions
import nacl.utils

KDF_ARGON2ID: Final = 1
KEY_BYTES: Final = 32
NONCE_BYTES: Final = 24
TAG_BYTES: Final = 16
SALT_BYTES: Final = 16

KIB: Final = 1024
SMALL_STEP: Final = 4 * KIB
SMALL_LIMIT: Final = 64 * KIB
LARGE_STEP: Final = 16 * KIB
LARGE_LIMIT: Final = 256 * KIB

MIN_MEMORY_KIB: Final = 32 * KIB
MIN_MEMORY_PASSES_KIB: Final = 192 * KIB
MAX_MEMORY_KIB: Final = 1024 * KIB
MAX_PASSES: Final = 24


class DraftCryptoError(Exception):
    """The draft cannot be opened, or the server asks for something unsafe. The text names no value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivation:
    """How the master key comes from the passcode."""

    salt: bytes
    memory_kib: int = 64 * KIB
    passes: int = 3

    def require_safe(self) -> None:
        """Refuse parameters out of bounds: a tampered server must make guessing neither cheap nor the device hang."""
        if (
            len(self.salt) != SALT_BYTES
            or not MIN_MEMORY_KIB <= self.memory_kib <= MAX_MEMORY_KIB
            or not 0 < self.passes <= MAX_PASSES
            or self.memory_kib * self.passes < MIN_MEMORY_PASSES_KIB
        ):
            raise DraftCryptoError("the key derivation that the server names is not acceptable")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """A ciphertext with its nonce."""

    nonce: bytes
    ciphertext: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a save is bound to: another draft, version or revision does not decrypt.

    The client builds it from what it expects, never from what came beside the ciphertext.
    """

    application_id: UUID
    revision: int
    enc_version: int = 1
    schema_version: int = 1

    def content_aad(self, padded_len: int) -> bytes:
        """Associated data of the content: "CNP1", the length of the rest, then fixed-width big-endian fields."""
        fields = struct.pack(
            ">BB16sHQHI",
            self.enc_version,
            KDF_ARGON2ID,
            self.application_id.bytes,
            0,  # one whole-draft blob: there is no step
            self.revision,
            self.schema_version,
            padded_len,
        )
        return b"CNP1" + struct.pack(">H", len(fields)) + fields

    def key_aad(self) -> bytes:
        """Associated data of the wrapped draft key: it outlives revisions, so none is bound."""
        fields = struct.pack(">BB16s", self.enc_version, KDF_ARGON2ID, self.application_id.bytes)
        return b"CNPK" + struct.pack(">H", len(fields)) + fields


def passcode_digits(typed: str) -> bytes:
    """The canonical passcode: its digits as ASCII, whatever script they were typed in; separators do not matter."""
    return "".join(str(unicodedata.decimal(c)) for c in typed if unicodedata.decimal(c, None) is not None).encode()


def master_key(passcode: str, derivation: Derivation) -> bytes:
    """Derive the master key: Argon2id 1.3, one lane, 32 bytes. Takes a tenth of a second or more, on purpose."""
    derivation.require_safe()
    return nacl.bindings.crypto_pwhash_alg(
        KEY_BYTES,
        passcode_digits(passcode),
        derivation.salt,
        derivation.passes,
        derivation.memory_kib * KIB,
        nacl.bindings.crypto_pwhash_ALG_ARGON2ID13,
    )


def wrapping_key(master: bytes, context: Context, server_share: bytes = b"") -> bytes:
    """The key that wraps the draft key: subkey 1 of context "CNPdraft" (libsodium's crypto_kdf)."""
    subkey = hashlib.blake2b(
        b"", digest_size=KEY_BYTES, key=master, salt=struct.pack("<QQ", 1, 0), person=b"CNPdraft" + bytes(8)
    ).digest()
    if context.enc_version == 1:
        return subkey
    if context.enc_version == 2 and server_share:
        return hashlib.blake2b(server_share + context.application_id.bytes, digest_size=KEY_BYTES, key=subkey).digest()
    raise DraftCryptoError("this version of the draft encryption is not known, or its share is missing")


def new_draft_key() -> bytes:
    """A random key for one draft."""
    return nacl.utils.random(KEY_BYTES)


def wrap_key(draft_key: bytes, under: bytes, context: Context) -> Sealed:
    """Wrap the draft key; its nonce is fresh."""
    return _seal(draft_key, under, context.key_aad())


def unwrap_key(wrapped: Sealed, under: bytes, context: Context) -> bytes:
    """Unwrap the draft key. DraftCryptoError: another passcode, draft or version."""
    return _open(wrapped, under, context.key_aad())


def seal_content(plaintext: bytes, draft_key: bytes, context: Context) -> Sealed:
    """Pad and encrypt a draft for `context.revision`; the nonce is fresh for every call."""
    padded = pad(plaintext)
    return _seal(padded, draft_key, context.content_aad(len(padded)))


def open_content(sealed: Sealed, draft_key: bytes, context: Context) -> bytes:
    """Decrypt and unpad a draft. DraftCryptoError: another key, draft, version or revision, or a changed byte."""
    return unpad(_open(sealed, draft_key, context.content_aad(len(sealed.ciphertext) - TAG_BYTES)))


def padded_len(length: int) -> int:
    """Length of the bucket for `length` bytes and the padding mark: 4 KiB steps up to 64 KiB, 16 KiB up to 256 KiB."""
    needed = length + 1
    step = SMALL_STEP if needed <= SMALL_LIMIT else LARGE_STEP
    bucket = -(-needed // step) * step
    if bucket > LARGE_LIMIT:
        raise DraftCryptoError("the draft is larger than 256 KiB")
    return bucket


def pad(plaintext: bytes) -> bytes:
    """Fill up to the bucket with 0x80 and zeros (ISO/IEC 7816-4), so that a length says little."""
    return (plaintext + b"\x80").ljust(padded_len(len(plaintext)), b"\x00")


def unpad(padded: bytes) -> bytes:
    """Undo `pad`."""
    body = padded.rstrip(b"\x00")
    if not body.endswith(b"\x80"):
        raise DraftCryptoError("the draft's padding is broken")
    return body[:-1]


def _seal(plaintext: bytes, key: bytes, aad: bytes) -> Sealed:
    nonce = nacl.utils.random(NONCE_BYTES)
    ciphertext = nacl.bindings.crypto_aead_xchacha20poly1305_ietf_encrypt(plaintext, aad, nonce, key)
    return Sealed(nonce=nonce, ciphertext=ciphertext)


def _open(sealed: Sealed, key: bytes, aad: bytes) -> bytes:
    try:
        return nacl.bindings.crypto_aead_xchacha20poly1305_ietf_decrypt(sealed.ciphertext, aad, sealed.nonce, key)
    except (nacl.exceptions.CryptoError, ValueError) as error:
        raise DraftCryptoError("the draft could not be opened") from error
