"""Giving an attempt up that cannot be finished: in_progress → compensating → cancelled in persons → aborted (ADR-038).

The intent is committed first, fenced, so that no final commit of this generation can follow; persons then cancels the
generation, registered or not, so that no late write can land; only its acknowledgement ends the attempt. Nothing of the
draft is touched. This release can cancel a generation that holds nothing; one with receipts stays as it is.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from canopy.errors.v1.reason_pb2 import Reason
from services.applications.clients.persons import PersonsFinalize
from services.applications.domain.states import Status
from services.applications.store import operations
from services.applications.store.operations import Fence
from services.chassis.postgres import Database, Lane, Transaction
from services.kernel import failpoint, instruments
from services.kernel.errors import ClientError, Refusal
from services.kernel.failpoint import Failpoint

_log: Final = logging.getLogger(__name__)

_NOT_YET: Final = frozenset({Reason.REASON_GENERATION_NOT_EMPTY, Reason.REASON_GENERATION_SEALED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Undoing:
    """Undoes attempts."""

    db: Database
    persons: PersonsFinalize

    async def begin(self, fence: Fence, reason: Reason) -> None:
        """Commit the intent to undo an attempt, for `reason`. Raises Refusal with REASON_LEASE_LOST."""

        async def work(tx: Transaction) -> bool:
            if not await operations.compensate(tx, fence, Reason.Name(reason)):
                raise Refusal(Reason.REASON_LEASE_LOST)
            return True

        await self.db.transact(
            "finalize.compensate", work, lane=Lane.CONTROL, reread=lambda tx: _reached(tx, fence, Status.COMPENSATING)
        )
        await failpoint.reach(Failpoint.APPLICATIONS_ABORT_AFTER_COMPENSATING)

    async def finish(self, fence: Fence) -> None:
        """Cancel the generation of an attempt that is being undone, then end the attempt.

        Raises ClientError where persons cannot be reached; Refusal with REASON_OPERATION_BUSY where the generation
        cannot be cancelled by this release, REASON_LEASE_LOST where somebody else undoes it.
        """
        try:
            await self.persons.cancel(fence.operation_id, fence.generation)
        except ClientError as error:
            if error.reason not in _NOT_YET:
                raise
            _log.error("attempt cannot be undone", extra={**fence.facts, "reason": Reason.Name(error.reason)})
            raise Refusal(Reason.REASON_OPERATION_BUSY) from error
        await failpoint.reach(Failpoint.APPLICATIONS_ABORT_AFTER_CANCEL)

        async def work(tx: Transaction) -> bool:
            if not await operations.abort(tx, fence):
                raise Refusal(Reason.REASON_LEASE_LOST)
            return True

        await self.db.transact(
            "finalize.abort", work, lane=Lane.CONTROL, reread=lambda tx: _reached(tx, fence, Status.ABORTED)
        )
        instruments.FINALIZE_ENDED.add(1, {instruments.OUTCOME: Status.ABORTED.value})
        await failpoint.reach(Failpoint.APPLICATIONS_AFTER_ABORTED)


async def _reached(tx: Transaction, fence: Fence, status: Status) -> bool | None:
    """Tell whether a COMMIT whose answer was lost brought the attempt to `status`; None where it left nothing."""
    operation = await operations.lock(tx, fence.operation_id)
    if operation is None or operation.generation != fence.generation:
        return None
    return True if operation.status == status else None
