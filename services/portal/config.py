"""Knobs of the portal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from canopy.portal.v1.sessions_service_pb2 import FlowKind
from services.chassis.channel import ClientConfig
from services.chassis.config import knob
from services.chassis.service import ServiceConfig
from services.chassis.tokens import CredentialsConfig
from services.chassis.valkey import ValkeyConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionConfig:
    """How long sessions last, and which pages may use them."""

    origins: tuple[str, ...] = knob(
        doc="Origins of the portal's own pages, for example https://apply.example.gov; all others are refused.",
        lo=1,
        hi=16,
    )
    apply_seconds: int = knob(
        1_800, lo=60, hi=14_400, unit="s", doc="Life of a session that fills a draft, since last use."
    )
    recovery_seconds: int = knob(1_800, lo=60, hi=14_400, unit="s", doc="Life of a session that recovers access.")
    renewal_seconds: int = knob(1_800, lo=60, hi=14_400, unit="s", doc="Life of a session that renews, since last use.")
    steady_state_seconds: int = knob(
        7_200, lo=60, hi=43_200, unit="s", doc="Life of a session that looks at an application, since last use."
    )
    kiosk_seconds: int = knob(
        900, lo=60, hi=3_600, unit="s", doc="Life of any session on a shared device, from its start."
    )
    device_seconds: int = knob(2_592_000, lo=3_600, hi=31_536_000, unit="s", doc="How long a device is recognised.")
    guard_seconds: float = knob(
        60.0, lo=1, hi=600, unit="s", doc="Interval of the check that sessions cannot be evicted."
    )

    def lifetime(self, flow: FlowKind) -> int:
        """Seconds that a session of `flow` lasts."""
        match flow:
            case FlowKind.FLOW_KIND_APPLY:
                return self.apply_seconds
            case FlowKind.FLOW_KIND_RECOVERY:
                return self.recovery_seconds
            case FlowKind.FLOW_KIND_RENEWAL:
                return self.renewal_seconds
            case FlowKind.FLOW_KIND_STEADY_STATE:
                return self.steady_state_seconds
            case FlowKind.FLOW_KIND_KIOSK:
                return self.kiosk_seconds
            case _:
                raise ValueError("a session has a flow kind")

    def check(self) -> Iterator[str]:
        """Refuse an origin that no browser would send: it could never match."""
        for origin in self.origins:
            parts = urlsplit(origin)
            if parts.scheme != "https" or not parts.netloc or origin != f"https://{parts.netloc.lower()}":
                yield "origins must each be https://host or https://host:port, in lower case, without a path"


@dataclass(frozen=True, slots=True, kw_only=True)
class PortalConfig(ServiceConfig):
    """Everything the portal is told."""

    credentials: CredentialsConfig
    applications: ClientConfig
    valkey: ValkeyConfig
    session: SessionConfig
