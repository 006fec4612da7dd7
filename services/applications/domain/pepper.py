"""Encryption under the pepper, a key ring that is not in the database: a stolen database alone cannot be guessed at.

It holds two small secrets per application id: the verifier of its passcode, and, for enc_version 2, the server's share
of the draft's key. Each is bound to its use and its application id.
"""

from __future__ import annotations

import uuid
from typing import Final

from services.applications.store.peppered import Sealed
from services.chassis.envelope import KeyRing
from services.kernel.secret import Secret

_VERIFIER: Final = b"canopy/passcode-verifier/1"
_SHARE: Final = b"canopy/draft-share/1"


class Pepper:
    """Seals under the active key of the ring, opens under any of its keys.

    Opening raises what the ring raises, UnknownKeyError or UnsealError: a fault of ours, and never a wrong passcode.
    """

    def __init__(self, ring: KeyRing) -> None:
        self._ring = ring

    @property
    def retired(self) -> list[str]:
        """Ids of the keys whose secrets are to be sealed again, so that the key can be destroyed."""
        return self._ring.inactive

    def seal_verifier(self, application_id: uuid.UUID, hashed: Secret[bytes]) -> Sealed:
        """Encrypt the hash of a passcode."""
        return self._seal(_VERIFIER, application_id, hashed)

    def open_verifier(self, application_id: uuid.UUID, sealed: Sealed) -> Secret[bytes]:
        """Return the hash of a passcode."""
        return self._open(_VERIFIER, application_id, sealed)

    def seal_share(self, application_id: uuid.UUID, share: Secret[bytes]) -> Sealed:
        """Encrypt a share of a draft's key."""
        return self._seal(_SHARE, application_id, share)

    def open_share(self, application_id: uuid.UUID, sealed: Sealed) -> Secret[bytes]:
        """Return a share of a draft's key."""
        return self._open(_SHARE, application_id, sealed)

    def _seal(self, label: bytes, application_id: uuid.UUID, secret: Secret[bytes]) -> Sealed:
        kid, ciphertext = self._ring.encrypt(label, application_id, secret.reveal())
        return Sealed(kid=kid, ciphertext=ciphertext)

    def _open(self, label: bytes, application_id: uuid.UUID, sealed: Sealed) -> Secret[bytes]:
        return Secret(self._ring.decrypt(label, application_id, sealed.kid, sealed.ciphertext))
