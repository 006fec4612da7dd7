"""Handlers of canopy.portal.v1.ApplicationsService."""

from __future__ import annotations

from typing import Any

from canopy.portal.v1 import applications_service_pb2 as pb
from canopy.portal.v1.applications_service_pb2_grpc import ApplicationsServiceServicer
from services.portal.clients.applications import Applications
from services.portal.domain import status
from services.portal.domain.sessions import Sessions
from services.portal.handlers import browser


class ApplicationsHandler(ApplicationsServiceServicer):
    """What an applicant sees after the submit."""

    def __init__(self, sessions: Sessions, applications: Applications) -> None:
        self._sessions = sessions
        self._applications = applications

    async def GetStatus(self, request: pb.GetStatusRequest, context: Any) -> pb.GetStatusResponse:
        """Say where the session's draft or application stands."""
        session = await self._sessions.require(browser.of(context).session)
        return await status.of(self._applications, session.subject.application_id)
