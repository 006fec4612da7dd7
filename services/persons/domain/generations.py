"""The life of a finalize generation: registered, filled, then sealed or cancelled for good (FIN-04, FIN-19..-21).

Steps pass the gate of their generation together; release and cancel close it, so they come after every step that was
under way and before every later one, and no stream of steps can starve them.
"""

from __future__ import annotations

import hmac
import logging
import uuid
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Final

from canopy.errors.v1.reason_pb2 import Reason
from services.chassis import outbox
from services.chassis.postgres import Database, Lane, Transaction
from services.kernel import failpoint
from services.kernel.errors import Refusal
from services.kernel.failpoint import Failpoint
from services.persons.store import advisory, entities, generations, receipts
from services.persons.store.generations import Attempt, GenerationCounts, GenerationRow

_log: Final = logging.getLogger(__name__)


class State(StrEnum):
    """Where a generation stands, as stored."""

    ACTIVE = "active"
    CANCELLED = "cancelled"
    SEALED = "sealed"
    RELEASE_BLOCKED = "release_blocked"


ABSENT: Final = "absent"
"""Stands for "no row yet" on the left of a pair."""

TRANSITIONS: Final[frozenset[tuple[str, str]]] = frozenset(
    {
        (ABSENT, State.ACTIVE),  # register
        (ABSENT, State.CANCELLED),  # cancel before a registration that is late, or never comes
        (State.ACTIVE, State.CANCELLED),  # cancel
        (State.ACTIVE, State.SEALED),  # release
        (State.ACTIVE, State.RELEASE_BLOCKED),  # release of other receipts than the manifest names
        (State.RELEASE_BLOCKED, State.ACTIVE),  # a steward lets the missing steps be applied again
        (State.RELEASE_BLOCKED, State.SEALED),  # a steward drops the extra ones, then it is released
    }
)
"""Which state may follow which; the database holds the same pairs (ADR-8)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """How a release ended. missing, extra: counts of step keys, of one that was blocked."""

    released_events: int = 0
    blocked: bool = False
    missing: int = 0
    extra: int = 0


class Generations:
    """Registers, releases and cancels generations."""

    def __init__(self, db: Database, released: Callable[[], None]) -> None:
        """Prepare. released: called after events were let go, to have them published without delay."""
        self._db: Final = db
        self._released: Final = released

    async def register(self, attempt: Attempt, digest: bytes, basis_date: date) -> None:
        """Open a generation, or acknowledge that it is open with the same pins.

        Raises Refusal: REASON_GENERATION_CANCELLED, REASON_GENERATION_SEALED, REASON_DIGEST_MISMATCH.
        """

        async def work(tx: Transaction) -> None:
            await advisory.enter_gate(tx, attempt.gate())
            await generations.insert_active(tx, attempt, digest, basis_date)
            row = require_pinned(await generations.read_shared(tx, attempt), digest)
            if row.basis_date != basis_date:
                raise Refusal(Reason.REASON_DIGEST_MISMATCH)
            require_open(row)

        await self._db.transact("generations.register", work, reread=run_again)
        await failpoint.reach(Failpoint.PERSONS_AFTER_REGISTER)

    async def release(self, attempt: Attempt, digest: bytes, manifest: Collection[str]) -> int:
        """Seal a generation and let its events go. Returns how many; 0 where it was sealed before.

        manifest: every step key of the request. Raises Refusal: REASON_GENERATION_ABSENT, REASON_GENERATION_CANCELLED,
        REASON_DIGEST_MISMATCH; REASON_RELEASE_BLOCKED where the receipts are others than the manifest, which is
        recorded first.
        """

        async def work(tx: Transaction) -> Release:
            await advisory.close_gate(tx, attempt.gate())
            row = require_pinned(await generations.read_locked(tx, attempt), digest)
            if row.state == State.SEALED:
                return Release()
            written, named = await receipts.read_step_keys(tx, attempt), set(manifest)
            await failpoint.reach(Failpoint.PERSONS_RELEASE_AFTER_MANIFEST)
            if written == named and row.state == State.ACTIVE:
                return Release(released_events=await _seal(tx, attempt))
            if row.state == State.ACTIVE:
                await generations.set_state(tx, attempt, State.RELEASE_BLOCKED)
            return Release(blocked=True, missing=len(named - written), extra=len(written - named))

        release = await self._db.transact("generations.release", work, lane=Lane.CONTROL, reread=run_again)
        if release.blocked:
            counts = {"missing_receipts": release.missing, "extra_receipts": release.extra}
            _log.error("release blocked: the receipts are not the manifest", extra={**attempt.facts, **counts})
            raise Refusal(Reason.REASON_RELEASE_BLOCKED, missing=str(release.missing), extra=str(release.extra))
        self._released()
        return release.released_events

    async def cancel(self, attempt: Attempt) -> None:
        """Cancel a generation that has no receipts, for good; one that has no row gets its tombstone.

        Raises Refusal: REASON_GENERATION_SEALED, REASON_GENERATION_NOT_EMPTY.
        """

        async def work(tx: Transaction) -> None:
            await advisory.close_gate(tx, attempt.gate())
            if not await generations.insert_cancelled(tx, attempt):
                await _cancel_existing(tx, attempt)
            await failpoint.reach(Failpoint.PERSONS_CANCEL_AFTER_STATE)

        await self._db.transact("generations.cancel", work, lane=Lane.CONTROL, reread=run_again)

    async def status(self, operation_id: uuid.UUID) -> list[GenerationCounts]:
        """List the generations of an operation, oldest first, with what belongs to each."""
        return await generations.read_counts(self._db, operation_id)


async def require_active(tx: Transaction, attempt: Attempt, digest: bytes) -> GenerationRow:
    """Pass the gate of an open generation for the rest of the transaction; the first thing that a tagged write does.

    Raises Refusal: REASON_GENERATION_ABSENT, REASON_GENERATION_CANCELLED, REASON_GENERATION_SEALED,
    REASON_DIGEST_MISMATCH, REASON_RELEASE_BLOCKED.
    """
    await advisory.enter_gate(tx, attempt.gate())
    row = require_pinned(await generations.read_shared(tx, attempt), digest)
    require_open(row)
    return row


def require_pinned(row: GenerationRow | None, digest: bytes) -> GenerationRow:
    """Refuse a generation that is absent or cancelled, or pinned to another digest."""
    if row is None:
        raise Refusal(Reason.REASON_GENERATION_ABSENT)
    if row.state == State.CANCELLED:
        raise Refusal(Reason.REASON_GENERATION_CANCELLED)
    if row.digest is None or not hmac.compare_digest(row.digest, digest):
        raise Refusal(Reason.REASON_DIGEST_MISMATCH)
    return row


def require_open(row: GenerationRow) -> None:
    """Refuse a generation to which nothing can be added any more."""
    if row.state == State.SEALED:
        raise Refusal(Reason.REASON_GENERATION_SEALED)
    if row.state == State.RELEASE_BLOCKED:
        raise Refusal(Reason.REASON_RELEASE_BLOCKED)


async def run_again(_tx: Transaction) -> None:
    """Settle a lost COMMIT: a transaction on a generation can run again, and then finds what the first run left."""


async def _seal(tx: Transaction, attempt: Attempt) -> int:
    await entities.seal(tx, attempt)
    await failpoint.reach(Failpoint.PERSONS_RELEASE_AFTER_SEAL)
    count = await outbox.release(tx, attempt.operation_id, attempt.generation)
    await failpoint.reach(Failpoint.PERSONS_RELEASE_AFTER_UNHOLD)
    return count


async def _cancel_existing(tx: Transaction, attempt: Attempt) -> None:
    row = await generations.read_locked(tx, attempt)
    if row is None or row.state == State.CANCELLED:
        return
    if row.state == State.SEALED:
        raise Refusal(Reason.REASON_GENERATION_SEALED)
    if await receipts.read_step_keys(tx, attempt):
        raise Refusal(Reason.REASON_GENERATION_NOT_EMPTY)
    await generations.set_state(tx, attempt, State.CANCELLED)
