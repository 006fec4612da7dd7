"""Where a session's draft or application stands."""

from __future__ import annotations

from canopy.applications.v1.application_pb2 import Application
from canopy.errors.v1.reason_pb2 import Reason
from canopy.portal.v1 import applications_service_pb2 as pb
from services.kernel.errors import Refusal
from services.portal.clients.applications import Applications


async def of(applications: Applications, application_id: str) -> pb.GetStatusResponse:
    """Ask for the application first: a draft that was submitted a moment ago, by another session, is one.

    Raises REASON_DRAFT_NOT_FOUND when there is neither.
    """
    try:
        return _filed((await applications.get_application(application_id)).application)
    except Refusal as refusal:
        if refusal.reason != Reason.REASON_APPLICATION_NOT_FOUND:
            raise
    draft = await applications.get_draft(application_id)
    submitting = draft.finalize_in_progress
    return pb.GetStatusResponse(progress=pb.Progress.PROGRESS_SUBMITTING if submitting else pb.Progress.PROGRESS_DRAFT)


def _filed(application: Application) -> pb.GetStatusResponse:
    return pb.GetStatusResponse(
        progress=pb.Progress.PROGRESS_SUBMITTED,
        status=application.status,
        code=application.code,
        received_at=application.received_at,
        filing_date=application.filing_date,
        programs_requested=application.programs_requested,
    )
