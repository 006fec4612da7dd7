"""Knobs of the embedded issuer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from services.chassis.config import knob
from services.chassis.service import ProcessConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenConfig:
    """What is issued, and to whom."""

    issuer: str = knob(
        doc="The issuer's own address, as services reach it; the `iss` of its tokens.", pattern=r"https?://[^?#]+"
    )
    clients_path: Path = knob(doc="JSON file of the clients, with digests of their secrets.")
    life_seconds: int = knob(600, lo=10, hi=86_400, unit="s", doc="Life of a token.")
    per_minute: int = knob(300, lo=1, hi=1_000_000, unit="tokens", doc="Most tokens one client gets in a minute.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningConfig:
    """The keys that sign, one file each."""

    folder: Path = knob(doc="Folder of the signing keys; a first key is made when it is empty.")
    retire_seconds: int = knob(
        3_600, lo=10, hi=31_536_000, unit="s", doc="How long a key stays published after a newer one took over."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityConfig(ProcessConfig):
    """The embedded issuer."""

    token: TokenConfig
    signing: SigningConfig

    def check(self) -> Iterator[str]:
        """Demand that a key outlives the tokens it signed."""
        if self.signing.retire_seconds <= self.token.life_seconds:
            yield "signing.retire_seconds must be more than token.life_seconds"
