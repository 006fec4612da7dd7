"""Filed applications."""

from __future__ import annotations

import uuid

from canopy.applications.v1.application_pb2 import Application
from canopy.errors.v1.reason_pb2 import Reason
from services.applications.store import applications
from services.chassis.postgres import Database
from services.kernel.errors import Refusal


async def get(db: Database, application_id: uuid.UUID) -> Application:
    """Return an application. Raises Refusal(REASON_APPLICATION_NOT_FOUND), for a draft's id too."""
    application = await applications.get(db, application_id)
    if application is None:
        raise Refusal(Reason.REASON_APPLICATION_NOT_FOUND)
    return application
