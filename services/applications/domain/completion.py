"""The final commit: a finished attempt becomes an application, in one transaction without the network (FIN-08)."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from canopy.applications.v1.application_pb2 import Confidentiality, Program, SubmissionChannel
from canopy.applications.v1.events_pb2 import ApplicationSubmitted
from canopy.applications.v1.finalize_pb2 import FinalizeRequest
from canopy.errors.v1.reason_pb2 import Reason
from services.applications.domain.claim import INITIAL, Claim, Claims, Filed, Submit
from services.applications.domain.plan import Plan, Recorded, programs_requested
from services.applications.domain.states import Status
from services.applications.store import filings, operations
from services.chassis import outbox
from services.chassis.envelope import KeyRing, Place, seal
from services.chassis.postgres import Lane, Transaction
from services.kernel import failpoint, step_key
from services.kernel.errors import Refusal
from services.kernel.failpoint import Failpoint

_TABLE: Final = "applications"
SUBMITTED: Final = "applications.application.submitted"


class DraftGoneError(Exception):
    """The draft was deleted under a running attempt: nothing may be filed, the attempt has to be undone."""


class _AlreadyFiledError(Exception):
    """An application stands under the reserved id: what is filed decides, not this attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """Files finished attempts.

    records: the ring that wraps the data keys of applications. filed: called after a commit, to have its event
    published without delay.
    """

    claims: Claims
    records: KeyRing
    filed: Callable[[], None]

    async def file(self, submit: Submit, claim: Claim, plan: Plan, recorded: Recorded) -> Filed:
        """Insert the application, delete its draft, complete the operation, stage the event: all or nothing.

        Order of locks: draft, operation, outbox. A lost answer of COMMIT is settled by reading the operation again,
        never by undoing it (FIN-22). Raises Refusal with REASON_LEASE_LOST where another attempt owns the operation, or
        REASON_COMMIT_UNKNOWN; DraftGoneError.
        """
        filing = self._filing(submit, claim, recorded)
        requested = [
            (uuid.UUID(recorded.person_id(index)), program_name(program))
            for index, person in enumerate(submit.request.people)
            for program in person.programs
        ]
        manifest = [step_key.to_text(key) for key in plan.manifest]
        filed = Filed(
            household_id=filing.household_id,
            received_at=claim.pins.received_at,
            filing_date=claim.pins.filing_date,
            basis_date=claim.pins.basis_date,
        )

        async def work(tx: Transaction) -> Filed:
            if not await filings.insert_application(tx, filing):
                raise _AlreadyFiledError
            await filings.insert_determinations(tx, filing.application_id, requested)
            await failpoint.reach(Failpoint.APPLICATIONS_FINAL_AFTER_APPLICATION)
            draft_was_there = await operations.delete_draft(tx, filing.application_id)
            await failpoint.reach(Failpoint.APPLICATIONS_FINAL_AFTER_DRAFT_DELETE)
            if not await operations.complete(tx, claim.fence, filing.household_id, manifest):
                raise Refusal(Reason.REASON_LEASE_LOST)
            if not draft_was_there:
                raise DraftGoneError
            await failpoint.reach(Failpoint.APPLICATIONS_FINAL_AFTER_OPERATION)
            await outbox.stage(tx, _submitted(submit, filed))
            return filed

        try:
            filed = await self.claims.db.transact(
                "finalize.complete", work, lane=Lane.CONTROL, reread=lambda tx: self._reread(tx, submit, claim)
            )
        except _AlreadyFiledError:
            return await self._what_is_filed(submit)
        self.filed()
        return filed

    async def _reread(self, tx: Transaction, submit: Submit, claim: Claim) -> Filed | None:
        """Say what the operation became of a COMMIT whose answer was lost; None where the final commit left nothing."""
        operation = await operations.lock(tx, claim.fence.operation_id)
        if operation is not None and operation.status == Status.COMPLETED:
            return self.claims.filed(operation, submit.canonical)
        return None

    async def _what_is_filed(self, submit: Submit) -> Filed:
        """Read the authoritative filing. One without a completed operation is not ours to answer for."""
        operation = await operations.completed(self.claims.db, submit.application_id)
        if operation is None:
            raise Refusal(Reason.REASON_LEASE_LOST)
        return self.claims.filed(operation, submit.canonical)

    def _filing(self, submit: Submit, claim: Claim, recorded: Recorded) -> filings.Filing:
        request = submit.request
        key = self.records.mint()
        place = Place(table=_TABLE, row_id=submit.application_id, dek_id=key.dek_id)
        return filings.Filing(
            application_id=submit.application_id,
            kind=INITIAL,
            household_id=uuid.UUID(recorded.household_id),
            submitted_by=uuid.UUID(recorded.person_id(request.submitted_by)),
            programs_requested=[program_name(program) for program in programs_requested(request)],
            channel=channel_name(submit.channel),
            confidentiality=_spelled(Confidentiality.Name(request.confidentiality), "CONFIDENTIALITY_"),
            received_at=claim.pins.received_at,
            filing_date=claim.pins.filing_date,
            basis_date=claim.pins.basis_date,
            dek_id=key.dek_id,
            wrapped_dek=key.wrapped,
            kek_kid=key.kid,
            details=seal(key.key, place, _own_part(request).SerializeToString()),
        )


def program_name(program: Program) -> str:
    """Spell a program as the database does: PROGRAM_CHILD_CARE is "child_care"."""
    return _spelled(Program.Name(program), "PROGRAM_")


def channel_name(channel: SubmissionChannel) -> str:
    """Spell a channel as the database does: SUBMISSION_CHANNEL_IN_PERSON is "in_person"."""
    return _spelled(SubmissionChannel.Name(channel), "SUBMISSION_CHANNEL_")


def _spelled(name: str, prefix: str) -> str:
    return name.removeprefix(prefix).lower()


def _own_part(request: FinalizeRequest) -> FinalizeRequest:
    """Return what a filing says beyond people, household and incomes, which are with the persons service."""
    part = FinalizeRequest()
    part.CopyFrom(request)
    for name in ("people", "household", "incomes"):
        part.ClearField(name)
    return part


def _submitted(submit: Submit, filed: Filed) -> outbox.NewEvent:
    application_id = str(submit.application_id)
    return outbox.NewEvent(
        type=SUBMITTED,
        subject=f"application/{application_id}",
        data=ApplicationSubmitted(
            application_id=application_id,
            household_id=str(filed.household_id),
            kind=submit.request.kind,
            filing_date=filed.filing_date.isoformat(),
            programs_requested=programs_requested(submit.request),
            channel=submit.channel,
        ),
    )
