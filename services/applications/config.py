"""Knobs of the applications service."""

from __future__ import annotations

import zoneinfo
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from services.chassis.bus_redis import RedisBusConfig
from services.chassis.channel import ClientConfig
from services.chassis.config import knob
from services.chassis.outbox_drainer import DrainerConfig
from services.chassis.postgres_config import DatabaseConfig
from services.chassis.service import ServiceConfig
from services.chassis.tokens import CredentialsConfig
from services.chassis.valkey import ValkeyConfig
from services.kernel.secret import Secret

# Below this Argon2id is too cheap to guess (DRF-09); the contract holds the same floor for the applicant's device.
FLOOR_MEMORY_KIB: Final = 32_768
FLOOR_KIB_PASSES: Final = 196_608


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysConfig:
    """Key rings, which live outside the database: whoever steals the database has none of them."""

    records: Secret[bytes] = knob(doc="Key ring that wraps the data keys of filed applications.")
    pepper: Secret[bytes] = knob(doc="Key ring that encrypts passcode verifiers and the server's key shares of drafts.")
    digests: Secret[bytes] = knob(doc="Key ring that keys the digests of submits.")


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
    concurrent: int = knob(
        2, lo=1, hi=64, unit="hashes", doc="Hashes computed at once for logins, and as many for new drafts."
    )
    queue: int = knob(
        16, lo=0, hi=1_000, unit="hashes", doc="Hashes of each that may wait; more are refused as overload."
    )
    rotation_seconds: float = knob(
        600.0, lo=1, hi=86_400, unit="s", doc="Interval between looks for verifiers under a pepper that is not active."
    )

    def check(self) -> Iterator[str]:
        """Demand that a stolen verifier is no cheaper to guess than a stolen draft."""
        if self.memory_kib * self.passes < FLOOR_KIB_PASSES:
            yield f"memory_kib x passes must be at least {FLOOR_KIB_PASSES}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgencyConfig:
    """Where the agency is."""

    time_zone: str = knob("America/New_York", doc="Time zone of the agency's days, by its IANA name.", lo=1, hi=64)

    def check(self) -> Iterator[str]:
        """Demand a time zone that this machine knows."""
        if self.time_zone not in zoneinfo.available_timezones():
            yield "time_zone is not in the machine's IANA database"


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalizeConfig:
    """Submitting drafts (ADR-038)."""

    lease_seconds: float = knob(
        60.0, lo=1, hi=3_600, unit="s", doc="How long an attempt that stopped keeps others from resuming it."
    )
    heartbeat_seconds: float = knob(
        15.0, lo=0.1, hi=1_200, unit="s", doc="Interval in which a running attempt prolongs its lease."
    )
    drive_seconds: float = knob(
        60.0, lo=1, hi=3_600, unit="s", doc="Deadline of the calls of one attempt, whatever deadline its caller has."
    )
    drain_seconds: float = knob(10.0, lo=0, hi=600, unit="s", doc="How long a stop waits for running attempts.")
    sweep_seconds: float = knob(
        5.0, lo=0.1, hi=3_600, unit="s", doc="Interval between looks for filings that wait for their release."
    )
    sweep_patience_seconds: float = knob(
        30.0, lo=0, hi=86_400, unit="s", doc="How long a submit has to release its own filing before it is swept."
    )

    def check(self) -> Iterator[str]:
        """Demand that two heartbeats may fail before a lease runs out."""
        if self.lease_seconds < 3 * self.heartbeat_seconds:
            yield f"lease_seconds ({self.lease_seconds}) must be >= 3 x heartbeat_seconds ({self.heartbeat_seconds})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationsConfig(ServiceConfig):
    """The applications service."""

    database: DatabaseConfig
    keys: KeysConfig
    persons: ClientConfig
    credentials: CredentialsConfig
    valkey: ValkeyConfig
    drafts: DraftsConfig = field(default_factory=DraftsConfig)
    passcodes: PasscodesConfig = field(default_factory=PasscodesConfig)
    agency: AgencyConfig = field(default_factory=AgencyConfig)
    finalize: FinalizeConfig = field(default_factory=FinalizeConfig)
    bus: RedisBusConfig = field(default_factory=RedisBusConfig)
    outbox: DrainerConfig = field(default_factory=DrainerConfig)
