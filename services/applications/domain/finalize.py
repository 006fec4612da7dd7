"""One submit becomes exactly one filing, or a clean abort (ADR-038).

claim → register → apply → final commit → release. Every step can be repeated, and an attempt that was cut short
anywhere is resumed by repeating the same submit, with what the attempt pinned. No transaction is open during a call.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from zoneinfo import ZoneInfo

from canopy.applications.v1.application_pb2 import FilingKind
from canopy.errors.v1.reason_pb2 import Reason
from canopy.persons.v1.step_pb2 import StepReceipt
from services.applications.clients.persons import PersonsFinalize
from services.applications.config import ApplicationsConfig
from services.applications.domain import self_service
from services.applications.domain.claim import Claim, Claims, Filed, Submit, Undo
from services.applications.domain.completion import Completion, DraftGoneError
from services.applications.domain.digest import DigestKeys
from services.applications.domain.drives import Drives
from services.applications.domain.filing import filing_violations
from services.applications.domain.lease import Lease
from services.applications.domain.plan import Plan, Recorded, plan_of
from services.applications.domain.release import Releases
from services.applications.domain.states import Status
from services.applications.domain.undo import Undoing
from services.applications.store import operations
from services.applications.store.operations import Fence
from services.chassis.envelope import KeyRing
from services.chassis.postgres import Database
from services.kernel import agency_calendar, failpoint, instruments
from services.kernel.clock import Clock
from services.kernel.errors import ClientError, Refusal, invalid, label
from services.kernel.failpoint import Failpoint

_log: Final = logging.getLogger(__name__)

REQUEST: Final = "request"
"""Where the filing stands in FinalizeApplicationRequest: paths of violations begin with it."""

# What persons refuses because of what was filed, whoever asks and however often. The applicant can correct it.
_REFUSED_FILING: Final = frozenset(
    {
        Reason.REASON_INVALID_FIELD,
        Reason.REASON_UNKNOWN_FIELD,
        Reason.REASON_ENTITY_NOT_FOUND,
        Reason.REASON_ENTITY_SHREDDED,
        Reason.REASON_STEP_UNKNOWN,
    }
)
_TOLD: Final = ("entity", "field", "rule")  # keys of a refusal's metadata that are passed on


@dataclass(frozen=True, slots=True, kw_only=True)
class Finalizer:
    """Submits drafts. heartbeat_seconds: at most a third of the lease."""

    claims: Claims
    persons: PersonsFinalize
    completion: Completion
    releases: Releases
    undoing: Undoing
    drives: Drives
    clock: Clock
    heartbeat_seconds: float

    @classmethod
    def assemble(
        cls,
        config: ApplicationsConfig,
        db: Database,
        persons: PersonsFinalize,
        drives: Drives,
        clock: Clock,
        *,
        filed: Callable[[], None],
    ) -> Finalizer:
        """Put the parts together. filed: called after each final commit, to have its event published without delay."""
        claims = Claims(
            db=db,
            keys=DigestKeys.parse(config.keys.digests.reveal()),
            lease_seconds=config.finalize.lease_seconds,
            zone=ZoneInfo(config.agency.time_zone),
        )
        return cls(
            claims=claims,
            persons=persons,
            completion=Completion(claims=claims, records=KeyRing.parse(config.keys.records.reveal()), filed=filed),
            releases=Releases(db=db, persons=persons),
            undoing=Undoing(db=db, persons=persons),
            drives=drives,
            clock=clock,
            heartbeat_seconds=config.finalize.heartbeat_seconds,
        )

    async def submit(self, submit: Submit) -> Filed:
        """File a draft, or find it filed: one round trip then, whether or not the draft still exists.

        Raises Refusal: REASON_INVALID_FIELD and REASON_NOT_IMPLEMENTED before anything is begun, what a claim refuses
        (claim.py); REASON_UPSTREAM_UNAVAILABLE, REASON_COMMIT_UNKNOWN and REASON_LEASE_LOST where the same submit is to
        be repeated; and REASON_ENTITY_NOT_FOUND and the like where the filing was refused and can be corrected.
        """
        operation = await operations.completed(self.claims.db, submit.application_id)
        if operation is not None:
            return self.claims.filed(operation, submit.canonical)
        self._require_in_order(submit)
        return await self.drives.run(submit.application_id, lambda: self._claim_and_drive(submit))

    def _require_in_order(self, submit: Submit) -> None:
        today = agency_calendar.basis_date(self.clock.now(), self.claims.zone)
        broken = filing_violations(submit.request, REQUEST, on=today)
        if submit.channel in self_service.CHANNELS:
            broken += self_service.self_service_violations(submit.request, REQUEST)
        if broken:
            raise invalid(*broken)
        if submit.request.kind != FilingKind.FILING_KIND_INITIAL:
            raise Refusal(Reason.REASON_NOT_IMPLEMENTED)

    async def _claim_and_drive(self, submit: Submit) -> Filed:
        result = await self.claims.claim_or_resume(submit)
        if isinstance(result, Undo):  # left half done: finish it, and what was submitted is a new filing
            await self._finish_undo(result)
            result = await self.claims.claim_or_resume(submit)
        match result:
            case Filed():
                return result
            case Undo():
                raise Refusal(Reason.REASON_OPERATION_BUSY)
            case Claim():
                return await self._drive(submit, result)

    async def _drive(self, submit: Submit, claim: Claim) -> Filed:
        plan = plan_of(submit.request)
        async with self._lease(claim.fence, claim.claimed_at) as lease:
            try:
                recorded = await self._record(claim, plan, lease)
                await failpoint.reach(Failpoint.APPLICATIONS_BEFORE_FINAL)
                lease.require()
                await lease.stop()
                filed = await self.completion.file(submit, claim, plan, recorded)
            except Exception as error:
                end = _end_of(error)
                if end is None:
                    await self._give_back(claim.fence)
                    raise
                if end.undo is not None:
                    await self._undo(claim.fence, end.undo)
                raise end.told from error
        await failpoint.reach(Failpoint.APPLICATIONS_FINAL_AFTER_COMMIT)
        instruments.FINALIZE_ENDED.add(1, {instruments.OUTCOME: Status.COMPLETED.value})
        await self._release(claim, plan)
        return filed

    async def _record(self, claim: Claim, plan: Plan, lease: Lease) -> Recorded:
        """Have persons write every step. What was written before, by whomever, is acknowledged and changes nothing."""
        fence, pins = claim.fence, claim.pins
        await failpoint.reach(Failpoint.APPLICATIONS_AFTER_CLAIM)
        lease.require()
        await self.persons.register(fence.operation_id, fence.generation, pins.digest, pins.basis_date)
        await failpoint.reach(Failpoint.APPLICATIONS_AFTER_REGISTER_SENT)
        receipts: list[StepReceipt] = []
        for batch in plan.batches():
            lease.require()
            await failpoint.reach(Failpoint.APPLICATIONS_BEFORE_APPLY)
            try:
                receipts += await self.persons.apply(fence.operation_id, fence.generation, pins.digest, batch)
            except ClientError as error:
                if error.reason not in _REFUSED_FILING:
                    raise
                refused = _FilingRefusedError(error.reason, error.metadata)
                # An attempt that has written cannot be undone yet (docs/finalize.md): it stays, and says why.
                raise refused.told if receipts else refused from error
            await failpoint.reach(Failpoint.APPLICATIONS_AFTER_APPLY)
        return Recorded.of(receipts)

    async def _release(self, claim: Claim, plan: Plan) -> None:
        """Try to release at once. The filing stands whatever becomes of it: the sweeper finishes what fails here."""
        fence = claim.fence
        try:
            await self.releases.release(fence.operation_id, fence.generation, claim.pins.digest, plan.manifest)
        except Exception as error:  # noqa: BLE001 -- nothing that happens now may take the receipt from the applicant
            _log.warning("release left to the sweeper", extra={**fence.facts, "error": label(error)})

    async def _undo(self, fence: Fence, reason: Reason) -> None:
        """Undo an attempt as far as it goes now. Once the intent is committed, a repeat or the sweeper goes on."""
        await self.undoing.begin(fence, reason)
        try:
            await self.undoing.finish(fence)
        except ClientError as error:
            _log.warning("undoing left to the sweeper", extra={**fence.facts, "error": label(error)})
            await self._give_back(fence)
        except Refusal as refusal:
            _log.warning("undoing left to the sweeper", extra={**fence.facts, "error": label(refusal)})

    async def _finish_undo(self, undo: Undo) -> None:
        async with self._lease(undo.fence, undo.claimed_at):
            try:
                await self.undoing.finish(undo.fence)
            except ClientError:
                await self._give_back(undo.fence)
                raise

    async def _give_back(self, fence: Fence) -> None:
        """End the lease, so that the same submit can be repeated at once. Where that fails it runs out by itself."""
        try:
            await operations.give_back(self.claims.db, fence)
        except Exception as error:  # noqa: BLE001 -- the failure that led here is the one to report
            _log.warning("lease not given back", extra={**fence.facts, "error": label(error)})

    def _lease(self, fence: Fence, claimed_at: float) -> Lease:
        return Lease(
            self.claims.db,
            fence,
            claimed_at=claimed_at,
            lease_seconds=self.claims.lease_seconds,
            heartbeat_seconds=self.heartbeat_seconds,
        )


class _FilingRefusedError(Exception):
    """Persons refused the first batch for what it says, so nothing is written. told: to the applicant."""

    def __init__(self, reason: Reason, metadata: Mapping[str, str]) -> None:
        super().__init__()
        passed_on: dict[str, Any] = {key: metadata[key] for key in _TOLD if key in metadata}
        self.told: Final = Refusal(reason, **passed_on)


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    """The end of an attempt that failed. undo: the reason to note, None where it is no longer ours to undo."""

    undo: Reason | None
    told: Refusal  # to the applicant


def _end_of(error: Exception) -> _End | None:
    """Decide what a failure means for the attempt; None where repeating the submit resumes it."""
    match error:
        case _FilingRefusedError(told=told):
            return _End(undo=told.reason, told=told)
        case DraftGoneError():
            return _End(undo=Reason.REASON_DRAFT_NOT_FOUND, told=Refusal(Reason.REASON_DRAFT_NOT_FOUND))
        case ClientError(reason=Reason.REASON_GENERATION_CANCELLED):  # by somebody, for good; the next one can be filed
            return _End(undo=error.reason, told=Refusal(Reason.REASON_LEASE_LOST))
        case ClientError(reason=Reason.REASON_GENERATION_SEALED | Reason.REASON_RELEASE_BLOCKED):
            # It was taken over, and its heir has filed: only a completed filing is released.
            return _End(undo=None, told=Refusal(Reason.REASON_LEASE_LOST))
        case _:
            return None
