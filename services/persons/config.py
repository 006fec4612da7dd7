"""Knobs of the persons service."""

from __future__ import annotations

from dataclasses import dataclass, field

from services.chassis.bus_redis import RedisBusConfig
from services.chassis.config import knob
from services.chassis.outbox_drainer import DrainerConfig
from services.chassis.postgres_config import DatabaseConfig
from services.chassis.service import ServiceConfig
from services.chassis.valkey import ValkeyConfig
from services.kernel.secret import Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysConfig:
    """The key ring. It lives outside the database, so that a stolen one is unreadable; losing it loses the data."""

    records: Secret[bytes] = knob(doc="Key ring that wraps the data keys of personal data.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadsConfig:
    """Reads as known at an instant."""

    known_at_margin_seconds: float = knob(
        5.0,
        lo=0,
        hi=3_600,
        unit="s",
        doc="How much older than the longest transaction known_at must be, for a read that can be repeated exactly.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonsConfig(ServiceConfig):
    """The persons service."""

    database: DatabaseConfig
    keys: KeysConfig
    valkey: ValkeyConfig
    bus: RedisBusConfig = field(default_factory=RedisBusConfig)
    outbox: DrainerConfig = field(default_factory=DrainerConfig)
    reads: ReadsConfig = field(default_factory=ReadsConfig)
