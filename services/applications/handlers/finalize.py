"""FinalizeService: submitting a draft."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any, Final

from google.protobuf.timestamp_pb2 import Timestamp

from canopy.applications.v1 import finalize_service_pb2 as pb
from canopy.applications.v1.finalize_service_pb2_grpc import FinalizeServiceServicer
from canopy.errors.v1.reason_pb2 import Reason
from services.applications.domain.claim import Submit
from services.applications.domain.digest import canonical_bytes
from services.applications.domain.finalize import REQUEST, Finalizer
from services.applications.domain.plan import programs_requested
from services.applications.domain.states import Status
from services.applications.store import operations
from services.applications.store.operations import Attempt
from services.chassis.postgres import Database
from services.kernel.errors import Refusal

_STATES: Final = {
    Status.IN_PROGRESS: pb.OPERATION_STATE_IN_PROGRESS,
    Status.COMPENSATING: pb.OPERATION_STATE_COMPENSATING,
    Status.COMPLETED: pb.OPERATION_STATE_COMPLETED,
    Status.ABORTED: pb.OPERATION_STATE_ABORTED,
}


class FinalizeHandler(FinalizeServiceServicer):
    """Answers for submits."""

    def __init__(self, db: Database, finalizer: Finalizer) -> None:
        self._db = db
        self._finalizer = finalizer

    async def FinalizeApplication(
        self, request: pb.FinalizeApplicationRequest, context: Any
    ) -> pb.FinalizeApplicationResponse:
        """File a draft, or answer with the receipt of its filing."""
        submit = Submit(
            application_id=uuid.UUID(request.application_id),
            expected_revision=request.expected_revision,
            channel=request.channel,
            request=request.request,
            canonical=canonical_bytes(request.request, REQUEST),
        )
        filed = await self._finalizer.submit(submit)
        receipt = pb.FilingReceipt(
            application_id=request.application_id,
            household_id=str(filed.household_id),
            received_at=_timestamp(filed.received_at),
            filing_date=filed.filing_date.isoformat(),
            basis_date=filed.basis_date.isoformat(),
            programs_requested=programs_requested(request.request),  # the digest vouches that it is what was filed
        )
        return pb.FinalizeApplicationResponse(receipt=receipt)

    async def WithdrawAttempt(self, request: pb.WithdrawAttemptRequest, context: Any) -> pb.WithdrawAttemptResponse:
        """Refuse: undoing an attempt with receipts needs compensation."""
        raise Refusal(Reason.REASON_NOT_IMPLEMENTED)

    async def GetFinalizeOperation(
        self, request: pb.GetFinalizeOperationRequest, context: Any
    ) -> pb.GetFinalizeOperationResponse:
        """Say where the submit of a draft stands."""
        attempts = await operations.attempts(self._db, uuid.UUID(request.application_id))
        if not attempts:
            raise Refusal(Reason.REASON_APPLICATION_NOT_FOUND)
        return pb.GetFinalizeOperationResponse(
            state=_STATES[Status(attempts[-1].status)], attempts=[_attempt(attempt) for attempt in attempts]
        )


def _attempt(attempt: Attempt) -> pb.FinalizeAttempt:
    completed = attempt.outcome == Status.COMPLETED
    return pb.FinalizeAttempt(
        generation=attempt.generation,
        received_at=_timestamp(attempt.received_at),
        basis_date=attempt.basis_date.isoformat(),
        state=_STATES[Status(attempt.outcome or attempt.status)],
        ended_at=_timestamp(attempt.ended_at) if attempt.ended_at else None,
        released=completed and attempt.released_at is not None,
        release_blocked=completed and attempt.release_blocked_at is not None,
    )


def _timestamp(instant: datetime) -> Timestamp:
    timestamp = Timestamp()
    timestamp.FromDatetime(instant)
    return timestamp
