"""The keyed digest that pins what was submitted (FIN-09).

digest = HMAC-SHA256(key[kid], "canopy-finalize/1" ‖ 0x00 ‖ request.SerializeToString(deterministic=True)), over a
request that keeps its contract, holds no unknown field or enum number, and is in normalisation form C. What is hashed
is thus what is stored. The key keeps people from being guessed from the digest. protobuf promises no canonical bytes
across its versions: golden vectors (tests/contract/vectors/finalize_digest.json) watch over that, and bytes that
change are a new version.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from canopy.applications.v1.finalize_pb2 import FinalizeRequest
from services.chassis.envelope import read_ring
from services.kernel import fields
from services.kernel.secret import Secret

VERSION: Final = 1
_LABEL: Final = b"canopy-finalize/1\0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """A digest and what it takes to compute it again."""

    value: bytes  # 32
    version: int
    kid: str


class DigestKeys:
    """The keys of the digest by id. `active` signs what is new; the others verify what was pinned before a rotation."""

    def __init__(self, active: str, keys: Mapping[str, Secret[bytes]]) -> None:
        self._active: Final = active
        self._keys: Final = dict(keys)

    @classmethod
    def parse(cls, ring: bytes) -> DigestKeys:
        """Read the file of a key ring (services/chassis/envelope.py). Raises KeyRingError."""
        active, keys = read_ring(ring)
        return cls(active, {kid: Secret(key) for kid, key in keys.items()})

    def digest(self, canonical: bytes) -> Digest:
        """Digest what `canonical_bytes` gave, with the active key."""
        return Digest(value=self._mac(self._active, canonical), version=VERSION, kid=self._active)

    def matches(self, pinned: Digest, canonical: bytes) -> bool:
        """Tell whether the request behind `canonical` is the one that was pinned.

        Raises LookupError where the version or the key is not known here: a key was retired too early.
        """
        if pinned.version != VERSION or pinned.kid not in self._keys:
            raise LookupError("the digest of this operation needs a version or key that is not configured")
        return hmac.compare_digest(pinned.value, self._mac(pinned.kid, canonical))

    def _mac(self, kid: str, canonical: bytes) -> bytes:
        return hmac.new(self._keys[kid].reveal(), _LABEL + canonical, sha256).digest()


def canonical_bytes(request: FinalizeRequest, path: str) -> bytes:
    """Bring `request` into form C, in place, and return the bytes that are digested.

    path: where the request stands in the message that carried it. Raises Refusal: REASON_UNKNOWN_FIELD for a field of
    a newer contract, whose place in the bytes is nobody's promise; REASON_INVALID_FIELD for whatever else breaks the
    contract, unknown enum numbers included.
    """
    fields.require_contract(request, path)
    return request.SerializeToString(deterministic=True)
