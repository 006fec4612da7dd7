"""Who drives the submit of a draft: claim_or_resume, one short transaction (FIN-06).

The draft row is locked first, then the operation row, and the locked state decides. Concurrent submits of one draft are
thus served one after the other, and each sees what the one before it left.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from typing import Final, TypeAlias

from canopy.applications.v1.application_pb2 import SubmissionChannel
from canopy.applications.v1.finalize_pb2 import FinalizeRequest
from canopy.errors.v1.reason_pb2 import Reason
from services.applications.domain.digest import Digest, DigestKeys
from services.applications.domain.states import Status
from services.applications.store import operations
from services.applications.store.operations import Fence, Operation, Pins
from services.chassis.postgres import Database, Transaction
from services.kernel import agency_calendar, instruments
from services.kernel.errors import Refusal

INITIAL: Final = "initial"
"""The one kind of filing whose operation id is the reserved application id, spelled as in the database."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Submit:
    """One call to submit a draft. canonical: the bytes of `request` that are digested."""

    application_id: uuid.UUID
    expected_revision: int
    channel: SubmissionChannel
    request: FinalizeRequest
    canonical: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The right to drive one attempt, until its lease runs out or another claim takes it.

    claimed_at: a reading of time.monotonic() before the lease began: counted from it, the lease ends no sooner.
    """

    fence: Fence
    pins: Pins
    claimed_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo:
    """The right to finish an undoing that its former holder left half done."""

    fence: Fence
    claimed_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Filed:
    """A completed filing, as pinned: every repeat of its submit gets the same."""

    household_id: uuid.UUID
    received_at: datetime
    filing_date: date
    basis_date: date


ClaimResult: TypeAlias = Claim | Undo | Filed


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """Claims attempts. zone: the agency's, which turns the instant of a submit into its dates."""

    db: Database
    keys: DigestKeys
    lease_seconds: float
    zone: tzinfo

    async def claim_or_resume(self, submit: Submit) -> ClaimResult:
        """Begin, resume, or find completed, the submit of a draft.

        Raises Refusal: REASON_DRAFT_NOT_FOUND, REASON_REVISION_STALE, REASON_SUBMIT_DIFFERS, REASON_OPERATION_BUSY.
        """
        holder = uuid.uuid4()  # of this claim alone: a restarted process must not pass for its former self
        claimed_at = time.monotonic()

        async def work(tx: Transaction) -> ClaimResult:
            draft = await operations.lock_draft(tx, submit.application_id)
            operation = await operations.lock(tx, submit.application_id)
            if operation is not None and operation.status == Status.COMPLETED:
                return self.filed(operation, submit.canonical)
            if draft is None:
                raise Refusal(Reason.REASON_DRAFT_NOT_FOUND)
            if operation is None or operation.status == Status.ABORTED:
                _require_current(draft, submit)
                pins = self._pins(draft.now, submit)
                return await self._begin(tx, submit, operation, pins, holder, claimed_at)
            return await self._take_over(tx, submit, operation, holder, claimed_at)

        async def reread(tx: Transaction) -> ClaimResult | None:
            operation = await operations.lock(tx, submit.application_id)
            return _held(operation, claimed_at) if operation is not None and operation.holder == holder else None

        return await self.db.transact("finalize.claim", work, reread=reread)

    async def take_over_undo(self, operation_id: uuid.UUID, generation: int) -> Undo | None:
        """Take over an undoing whose holder's lease has run out; None where it has ended or somebody holds it."""
        fence = Fence(operation_id=operation_id, generation=generation, holder=uuid.uuid4())
        claimed_at = time.monotonic()

        async def work(tx: Transaction) -> Undo | None:
            operation = await operations.lock(tx, operation_id)
            if operation is None or operation.status != Status.COMPENSATING or operation.generation != generation:
                return None
            stolen = await operations.steal(tx, fence, self.lease_seconds)
            return Undo(fence=fence, claimed_at=claimed_at) if stolen else None

        return await self.db.transact("finalize.take_over_undo", work)

    def filed(self, operation: Operation, canonical: bytes) -> Filed:
        """Answer a submit of a completed operation: the same one gets the filing, another is refused."""
        self._require_same(operation, canonical)
        assert operation.household_id is not None  # by a CHECK of the table
        return Filed(
            household_id=operation.household_id,
            received_at=operation.pins.received_at,
            filing_date=operation.pins.filing_date,
            basis_date=operation.pins.basis_date,
        )

    async def _begin(
        self,
        tx: Transaction,
        submit: Submit,
        operation: Operation | None,
        pins: Pins,
        holder: uuid.UUID,
        claimed_at: float,
    ) -> Claim:
        generation = operation.generation + 1 if operation else 1
        fence = Fence(operation_id=submit.application_id, generation=generation, holder=holder)
        if operation is None:
            await operations.begin_first(tx, fence, submit.application_id, INITIAL, self.lease_seconds, pins)
        elif not await operations.begin_next(tx, fence, self.lease_seconds, pins):
            raise RuntimeError("a locked operation has changed")
        return Claim(fence=fence, pins=pins, claimed_at=claimed_at)

    async def _take_over(
        self, tx: Transaction, submit: Submit, operation: Operation, holder: uuid.UUID, claimed_at: float
    ) -> ClaimResult:
        """Resume an attempt that nobody drives any more, with its own pins; or finish undoing it."""
        if operation.leased:
            raise Refusal(Reason.REASON_OPERATION_BUSY)
        if operation.status == Status.IN_PROGRESS:
            self._require_same(operation, submit.canonical)
        fence = Fence(operation_id=operation.operation_id, generation=operation.generation, holder=holder)
        if not await operations.steal(tx, fence, self.lease_seconds):
            raise Refusal(Reason.REASON_OPERATION_BUSY)
        instruments.FINALIZE_TAKEOVERS.add(1)
        if operation.status == Status.COMPENSATING:
            return Undo(fence=fence, claimed_at=claimed_at)
        return Claim(fence=fence, pins=operation.pins, claimed_at=claimed_at)

    def _pins(self, now: datetime, submit: Submit) -> Pins:
        digest = self.keys.digest(submit.canonical)
        return Pins(
            received_at=now,
            basis_date=agency_calendar.basis_date(now, self.zone),
            filing_date=agency_calendar.filing_date(now, self.zone),
            digest=digest.value,
            digest_version=digest.version,
            digest_kid=digest.kid,
        )

    def _require_same(self, operation: Operation, canonical: bytes) -> None:
        pins = operation.pins
        pinned = Digest(value=pins.digest, version=pins.digest_version, kid=pins.digest_kid)
        if not self.keys.matches(pinned, canonical):
            raise Refusal(Reason.REASON_SUBMIT_DIFFERS)


def _require_current(draft: operations.Draft, submit: Submit) -> None:
    """A new attempt is made from a draft that lives, at the revision that the applicant saw."""
    if draft.expired:
        raise Refusal(Reason.REASON_DRAFT_NOT_FOUND)
    if draft.revision != submit.expected_revision:
        raise Refusal(Reason.REASON_REVISION_STALE, revision=str(draft.revision))


def _held(operation: Operation, claimed_at: float) -> ClaimResult:
    """Describe the claim that a holder read again after its COMMIT was lost."""
    assert operation.holder is not None
    fence = Fence(operation_id=operation.operation_id, generation=operation.generation, holder=operation.holder)
    if operation.status == Status.COMPENSATING:
        return Undo(fence=fence, claimed_at=claimed_at)
    return Claim(fence=fence, pins=operation.pins, claimed_at=claimed_at)
