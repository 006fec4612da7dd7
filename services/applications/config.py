"""Knobs of the applications service."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from services.chassis.config import knob
from services.chassis.postgres_config import DatabaseConfig
from services.chassis.service import ServiceConfig
from services.kernel.secret import Secret

# Below this Argon2id is too cheap to guess (DRF-09); the contract holds the same floor for the applicant's device.
FLOOR_MEMORY_KIB: Final = 32_768
FLOOR_KIB_PASSES: Final = 196_608


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysConfig:
    """Key rings, which live outside the database: whoever steals the database has none of them."""

    records: Secret[bytes] = knob(doc="Key ring that wraps the data keys of filed applications.")
    pepper: Secret[bytes] = knob(doc="Key ring that encrypts passcode verifiers and the server's key shares of drafts.")


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftsConfig:
    """New drafts."""

    enc_version: int = knob(
        1, choices=(1, 2), doc="Encryption of new drafts: 1 = key from the passcode, 2 = with a share that we hold."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PasscodesConfig:
    """Hashing of passcodes. One hash takes `memory_kib` of memory and a core for its time."""

    memory_kib: int = knob(
        65_536, lo=FLOOR_MEMORY_KIB, hi=1_048_576, unit="KiB", doc="Argon2id memory of new verifiers."
    )
    passes: int = knob(3, lo=1, hi=24, unit="passes", doc="Argon2id passes of new verifiers.")
    concurrent: int = knob(2, lo=1, hi=64, unit="hashes", doc="Hashes computed at once.")
    queue: int = knob(16, lo=0, hi=1_000, unit="hashes", doc="Hashes that may wait; more are refused as overload.")
    rotation_seconds: float = knob(
        600.0, lo=1, hi=86_400, unit="s", doc="Interval between looks for verifiers under a pepper that is not active."
    )

    def check(self) -> Iterator[str]:
        """Demand that a stolen verifier is no cheaper to guess than a stolen draft."""
        if self.memory_kib * self.passes < FLOOR_KIB_PASSES:
            yield f"memory_kib x passes must be at least {FLOOR_KIB_PASSES}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationsConfig(ServiceConfig):
    """The applications service."""

    database: DatabaseConfig
    keys: KeysConfig
    drafts: DraftsConfig = field(default_factory=DraftsConfig)
    passcodes: PasscodesConfig = field(default_factory=PasscodesConfig)
