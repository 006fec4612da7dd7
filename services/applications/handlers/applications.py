"""canopy.applications.v1.ApplicationsService."""

from __future__ import annotations

import uuid
from typing import Any

from canopy.applications.v1 import applications_service_pb2 as pb
from canopy.applications.v1.applications_service_pb2_grpc import ApplicationsServiceServicer
from canopy.errors.v1.reason_pb2 import Reason
from services.applications.domain import applications
from services.chassis.postgres import Database
from services.kernel.errors import Refusal


class ApplicationsHandler(ApplicationsServiceServicer):
    """Answers for filed applications."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def GetApplication(self, request: pb.GetApplicationRequest, context: Any) -> pb.GetApplicationResponse:
        """Return one application."""
        return pb.GetApplicationResponse(
            application=await applications.get(self._db, uuid.UUID(request.application_id))
        )

    async def ListApplications(self, request: pb.ListApplicationsRequest, context: Any) -> pb.ListApplicationsResponse:
        """Refuse: the worker's list is not served by this release."""
        raise Refusal(Reason.REASON_NOT_IMPLEMENTED)
