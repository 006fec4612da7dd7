"""Handlers of canopy.portal.v1.SessionsService."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from canopy.portal.v1 import sessions_service_pb2 as pb
from canopy.portal.v1.sessions_service_pb2_grpc import SessionsServiceServicer
from services.portal.clients.applications import Applications
from services.portal.domain.origin import require_own_page
from services.portal.domain.sessions import Sessions, Subject
from services.portal.handlers import browser, convert


class SessionsHandler(SessionsServiceServicer):
    """Open, show and end sessions."""

    def __init__(self, sessions: Sessions, applications: Applications, origins: Collection[str]) -> None:
        self._sessions = sessions
        self._applications = applications
        self._origins = origins

    async def ResumeSession(self, request: pb.ResumeSessionRequest, context: Any) -> pb.ResumeSessionResponse:
        """Open a session by code and passcode. A session that the browser already has ends: one is enough."""
        sent = browser.of(context)
        require_own_page(sent.sender, self._origins)
        opened = await self._applications.verify(request.code, request.passcode)
        subject = Subject(
            application_id=opened.application_id,
            code=opened.code,
            scope=opened.scope,
            credential_epoch=opened.credential_epoch,
        )
        minted = await self._sessions.mint(subject, shared_device=request.shared_device, device=sent.device)
        await self._sessions.end(sent.session)
        await browser.set_cookies(context, minted)
        return pb.ResumeSessionResponse(session=convert.session(minted.session))

    async def GetSession(self, request: pb.GetSessionRequest, context: Any) -> pb.GetSessionResponse:
        """Show the session. Looking is no use of it: a page that polls does not keep it alive."""
        session = await self._sessions.look(browser.of(context).session)
        return pb.GetSessionResponse(session=convert.session(session))

    async def EndSession(self, request: pb.EndSessionRequest, context: Any) -> pb.EndSessionResponse:
        """End the session."""
        sent = browser.of(context)
        require_own_page(sent.sender, self._origins)
        await self._sessions.end(sent.session)
        await browser.clear_session(context)
        return pb.EndSessionResponse()
