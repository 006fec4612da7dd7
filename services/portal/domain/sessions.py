"""Sessions: an opaque 256-bit token in a cookie, known to the server only by its SHA-256 (ADR-026).

A session is minted when a draft is started or when code and passcode open one; it is never adopted from a client. Use
prolongs it, except on a shared device, where it ends on time. Deleting it is the kill-switch.
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from dataclasses import dataclass, replace
from typing import Final, cast

from redis.asyncio import Redis

from canopy.applications.v1.drafts_service_pb2 import CredentialScope
from canopy.errors.v1.reason_pb2 import Reason
from canopy.portal.v1.sessions_service_pb2 import FlowKind
from services.kernel.errors import Refusal
from services.kernel.secret import Secret
from services.portal.config import SessionConfig
from services.portal.store import sessions as store

TOKEN_BYTES: Final = 32
DEVICE_BYTES: Final = 16

FLOWS: Final = {
    CredentialScope.CREDENTIAL_SCOPE_DRAFT: FlowKind.FLOW_KIND_APPLY,
    CredentialScope.CREDENTIAL_SCOPE_APPLICATION: FlowKind.FLOW_KIND_STEADY_STATE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Whom a session is for: what the credentials open."""

    application_id: str
    code: str
    scope: CredentialScope
    credential_epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A live session."""

    session_id: str  # SHA-256 of the token
    device_id: str  # SHA-256 of the device's cookie
    flow_kind: FlowKind
    subject: Subject
    seconds_remaining: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Minted:
    """A new session and the two cookies that belong to it."""

    session: Session
    token: Secret[str]
    device: Secret[str]


class Sessions:
    """The sessions of one portal."""

    def __init__(self, valkey: Redis, config: SessionConfig) -> None:
        self._valkey = valkey
        self._config = config

    async def mint(self, subject: Subject, *, shared_device: bool, device: str | None) -> Minted:
        """Open a session. device: the device's cookie, where it sent one that is well-formed."""
        token = _random(TOKEN_BYTES)
        device = device if device and _decodes(device, DEVICE_BYTES) else _random(DEVICE_BYTES)
        flow = FlowKind.FLOW_KIND_KIOSK if shared_device else FLOWS[subject.scope]
        session = Session(
            session_id=_digest(token),
            device_id=_digest(device),
            flow_kind=flow,
            subject=subject,
            seconds_remaining=self._config.lifetime(flow),
        )
        await store.mint(
            self._valkey,
            session.session_id,
            self._record(session),
            seconds=session.seconds_remaining,
            device_seconds=self._config.device_seconds,
        )
        return Minted(session=session, token=Secret(token), device=Secret(device))

    async def require(self, token: str | None) -> Session:
        """Return the live session of a cookie; this is a use of it. Raises REASON_SESSION_REQUIRED."""
        return await self._find(token, prolong=True)

    async def look(self, token: str | None) -> Session:
        """Return the live session of a cookie and leave its end where it is. Raises REASON_SESSION_REQUIRED."""
        return await self._find(token, prolong=False)

    async def filed(self, session: Session) -> Session | None:
        """Let a session whose draft was submitted open the application instead; on a shared device its end stays.

        None where it was ended during the submit: an ended session never comes back.
        """
        subject = replace(session.subject, scope=CredentialScope.CREDENTIAL_SCOPE_APPLICATION)
        kiosk = session.flow_kind == FlowKind.FLOW_KIND_KIOSK
        session = replace(session, subject=subject, flow_kind=session.flow_kind if kiosk else FLOWS[subject.scope])
        seconds = await store.turn(self._valkey, session.session_id, self._record(session))
        return None if seconds is None else replace(session, seconds_remaining=seconds)

    async def end(self, token: str | None) -> None:
        """End the session of a cookie, if there is one."""
        if token and _decodes(token, TOKEN_BYTES):
            await store.end(self._valkey, _digest(token))

    def _record(self, session: Session) -> store.Record:
        kiosk = session.flow_kind == FlowKind.FLOW_KIND_KIOSK
        return store.Record(
            application_id=session.subject.application_id,
            code=session.subject.code,
            device_id=session.device_id,
            flow_kind=FlowKind.Name(session.flow_kind),
            scope=CredentialScope.Name(session.subject.scope),
            credential_epoch=session.subject.credential_epoch,
            idle_seconds=0 if kiosk else self._config.lifetime(session.flow_kind),
        )

    async def _find(self, token: str | None, *, prolong: bool) -> Session:
        found = None
        if token and _decodes(token, TOKEN_BYTES):
            found = await store.find(self._valkey, _digest(token), prolong=prolong)
        if token is None or found is None:
            raise Refusal(Reason.REASON_SESSION_REQUIRED)
        record, seconds = found
        return Session(
            session_id=_digest(token),
            device_id=record.device_id,
            flow_kind=cast("FlowKind", FlowKind.Value(record.flow_kind)),
            subject=Subject(
                application_id=record.application_id,
                code=record.code,
                scope=cast("CredentialScope", CredentialScope.Value(record.scope)),
                credential_epoch=record.credential_epoch,
            ),
            seconds_remaining=seconds,
        )


def _random(size: int) -> str:
    return base64.urlsafe_b64encode(secrets.token_bytes(size)).rstrip(b"=").decode()


def _decodes(cookie: str, size: int) -> bool:
    """Tell whether a cookie is the base64url of `size` bytes: nothing else is looked up, or kept."""
    if not re.fullmatch(r"[A-Za-z0-9_-]+", cookie):
        return False
    padded = cookie + "=" * (-len(cookie) % 4)
    try:
        return len(base64.urlsafe_b64decode(padded)) == size
    except ValueError:
        return False


def _digest(cookie: str) -> str:
    return hashlib.sha256(cookie.encode()).hexdigest()
