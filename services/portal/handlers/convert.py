"""Sessions as their holder sees them."""

from __future__ import annotations

from canopy.portal.v1 import sessions_service_pb2 as pb
from services.portal.domain.sessions import Session


def session(found: Session) -> pb.Session:
    """Say what a session is for and how long it lasts; its ids stay here."""
    return pb.Session(flow_kind=found.flow_kind, scope=found.subject.scope, seconds_remaining=found.seconds_remaining)
