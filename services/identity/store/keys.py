"""Signing keys: a folder with one Ed25519 key per file, named by its key id. The newest signs, all are published.

Key ids begin with the instant of their making, so that the order of names is the order of age. A file never changes:
the set of names is the whole state, and whoever adds or removes a file has rotated the keys of a running issuer.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

_SUFFIX: Final = ".pem"
_INSTANT: Final = "%Y%m%dT%H%M%S%fZ"


class KeyFolderError(Exception):
    """The folder does not hold what it should; the text names the file, never its content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """One key. `kid` goes into the header of its tokens."""

    kid: str
    private: Ed25519PrivateKey
    made_at: datetime


class KeyFolder:
    """The signing keys on disk, oldest first. Reads are one directory listing; a file is read once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, SigningKey] = {}

    def present(self) -> Sequence[SigningKey]:
        """Return the present keys, oldest first. Raises KeyFolderError for a folder without keys or a bad file."""
        names = sorted(name for name in os.listdir(self._folder) if name.endswith(_SUFFIX))
        if not names:
            raise KeyFolderError(f"{self._folder} holds no key")
        self._known = {name: self._known.get(name) or _read(self._folder / name) for name in names}
        return list(self._known.values())

    def ensure_key(self, now: datetime) -> None:
        """Make the folder and a first key where there is none."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not any(name.endswith(_SUFFIX) for name in os.listdir(self._folder)):
            self.add(now)

    def add(self, now: datetime) -> str:
        """Make a key that signs from now on; returns its id. Raises KeyFolderError if it would not be the newest."""
        kid = f"{now.astimezone(UTC):{_INSTANT}}-{secrets.token_hex(4)}"
        newest = max((name for name in os.listdir(self._folder) if name.endswith(_SUFFIX)), default="")
        if kid + _SUFFIX <= newest:
            raise KeyFolderError(f"{newest} is newer than the clock")
        pem = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        partial = self._folder / f".{kid}.partial"
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(pem)
            file.flush()
            os.fsync(file.fileno())
        partial.rename(self._folder / (kid + _SUFFIX))
        return kid

    def retire(self, before: datetime) -> list[str]:
        """Remove the keys whose successor was made before that instant; returns their ids. The newest always stays."""
        keys = self.present()
        retired = [old.kid for old, successor in pairwise(keys) if successor.made_at < before]
        for kid in retired:
            (self._folder / (kid + _SUFFIX)).unlink()
        return retired


def _read(path: Path) -> SigningKey:
    try:
        if path.stat().st_mode & stat.S_IRWXO:
            raise KeyFolderError(f"{path} is open to everyone on this machine; its mode must be 0600")
        private = load_pem_private_key(path.read_bytes(), password=None)
        made_at = datetime.strptime(path.name.partition("-")[0], _INSTANT).replace(tzinfo=UTC)
    except (OSError, ValueError) as error:
        raise KeyFolderError(f"{path} cannot be read as a key ({type(error).__name__})") from None
    if not isinstance(private, Ed25519PrivateKey):
        raise KeyFolderError(f"{path} is not an Ed25519 key")
    return SigningKey(kid=path.name.removesuffix(_SUFFIX), private=private, made_at=made_at)
