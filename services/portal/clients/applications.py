"""Calls to the applications service. Its refusals are handed on: they are meant for the applicant."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final, TypeVar

import grpc

from canopy.applications.v1 import applications_service_pb2, drafts_service_pb2, finalize_service_pb2
from canopy.applications.v1.applications_service_pb2_grpc import ApplicationsServiceStub
from canopy.applications.v1.drafts_service_pb2_grpc import DraftsServiceStub
from canopy.applications.v1.finalize_service_pb2_grpc import FinalizeServiceStub
from canopy.errors.v1.reason_pb2 import Reason
from services.kernel.errors import ClientError, Refusal

T = TypeVar("T")

# What an applicant, or the page, can act on. Anything else is a fault between services and stays one.
HANDED_ON: Final = frozenset(
    {
        Reason.REASON_INVALID_FIELD,
        Reason.REASON_UNKNOWN_FIELD,
        Reason.REASON_NOT_IMPLEMENTED,
        Reason.REASON_OVERLOADED,
        Reason.REASON_UPSTREAM_UNAVAILABLE,
        Reason.REASON_COMMIT_UNKNOWN,
        Reason.REASON_ENTITY_NOT_FOUND,
        Reason.REASON_ENTITY_SHREDDED,
        Reason.REASON_DRAFT_NOT_FOUND,
        Reason.REASON_CREDENTIALS_NOT_ACCEPTED,
        Reason.REASON_REVISION_STALE,
        Reason.REASON_SAVE_ID_REUSED,
        Reason.REASON_FINALIZE_IN_PROGRESS,
        Reason.REASON_OPERATION_BUSY,
        Reason.REASON_SUBMIT_DIFFERS,
        Reason.REASON_LEASE_LOST,
        Reason.REASON_CODES_EXHAUSTED,
        Reason.REASON_APPLICATION_NOT_FOUND,
    }
)


class Applications:
    """The applications service, as the portal calls it. Messages are the contract's; every id comes from a session."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._drafts = DraftsServiceStub(channel)
        self._finalize = FinalizeServiceStub(channel)
        self._applications = ApplicationsServiceStub(channel)

    async def create_draft(
        self, request: drafts_service_pb2.CreateDraftRequest
    ) -> drafts_service_pb2.CreateDraftResponse:
        """Open a draft."""
        return await _handed_on(self._drafts.CreateDraft(request))

    async def save_draft(self, request: drafts_service_pb2.SaveDraftRequest) -> drafts_service_pb2.SaveDraftResponse:
        """Save a draft."""
        return await _handed_on(self._drafts.SaveDraft(request))

    async def get_draft(self, application_id: str) -> drafts_service_pb2.GetDraftResponse:
        """Return a draft."""
        request = drafts_service_pb2.GetDraftRequest(application_id=application_id)
        return await _handed_on(self._drafts.GetDraft(request))

    async def verify(self, code: str, passcode: str) -> drafts_service_pb2.VerifyCredentialsResponse:
        """Return what a code and a passcode open."""
        request = drafts_service_pb2.VerifyCredentialsRequest(code=code, passcode=passcode)
        return await _handed_on(self._drafts.VerifyCredentials(request))

    async def finalize(
        self, request: finalize_service_pb2.FinalizeApplicationRequest
    ) -> finalize_service_pb2.FinalizeApplicationResponse:
        """Submit a draft."""
        return await _handed_on(self._finalize.FinalizeApplication(request))

    async def withdraw(self, application_id: str) -> finalize_service_pb2.WithdrawAttemptResponse:
        """Give up a submit that does not finish."""
        request = finalize_service_pb2.WithdrawAttemptRequest(application_id=application_id)
        return await _handed_on(self._finalize.WithdrawAttempt(request))

    async def get_application(self, application_id: str) -> applications_service_pb2.GetApplicationResponse:
        """Return a filed application."""
        request = applications_service_pb2.GetApplicationRequest(application_id=application_id)
        return await _handed_on(self._applications.GetApplication(request))


async def _handed_on(call: Awaitable[T]) -> T:
    try:
        return await call
    except ClientError as error:
        if error.reason not in HANDED_ON:
            raise
        # The trace id of this call replaces that of the inner one, which it is the same as.
        metadata = {key: value for key, value in error.metadata.items() if key != "trace_id"}
        raise Refusal(error.reason, violations=error.violations, retry_after=error.retry_after, **metadata) from error
