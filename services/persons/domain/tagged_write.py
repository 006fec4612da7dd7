"""Writes of a finalize: generation, receipts, entities, versions and held events, in one transaction (FIN-01, FIN-18).

One step or many, the statements are the same and their number does not depend on how many steps there are. The order of
locks: gate of the generation, its row, receipts by step key, entities on record by lock key, outbox.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import date
from typing import Final

from services.chassis import outbox
from services.chassis.envelope import KeyRing
from services.chassis.outbox import Hold
from services.chassis.postgres import Database, Transaction
from services.kernel import failpoint
from services.kernel.errors import invalid
from services.kernel.failpoint import Failpoint
from services.persons.domain import steps
from services.persons.domain.events import recorded
from services.persons.domain.generations import require_active, run_again
from services.persons.domain.references import References
from services.persons.domain.steps import PlacedStep, Write
from services.persons.domain.versions import new_version, remainder
from services.persons.store import entities, keys, receipts, versions
from services.persons.store.entities import NewEntity
from services.persons.store.generations import Attempt


class TaggedWriter:
    """Applies steps."""

    def __init__(self, db: Database, ring: KeyRing) -> None:
        """Prepare. ring: wraps the data keys of new versions, and opens those of versions that are cut short."""
        self._db: Final = db
        self._ring: Final = ring

    async def apply(self, attempt: Attempt, digest: bytes, placed: Sequence[PlacedStep]) -> list[uuid.UUID]:
        """Apply all steps or none. Returns the stable id of each; of a repeated step the one it left the first time.

        Raises Refusal: see the contract of ApplyFinalizeStep.
        """

        async def work(tx: Transaction) -> list[uuid.UUID]:
            return await self._apply(tx, attempt, digest, placed)

        stable_ids = await self._db.transact("steps.apply", work, reread=run_again)
        await failpoint.reach(Failpoint.PERSONS_AFTER_COMMIT)
        return stable_ids

    async def _apply(
        self, tx: Transaction, attempt: Attempt, digest: bytes, placed: Sequence[PlacedStep]
    ) -> list[uuid.UUID]:
        await failpoint.reach(Failpoint.PERSONS_AFTER_BEGIN)
        generation = await require_active(tx, attempt, digest)
        assert generation.basis_date is not None  # an open generation is pinned
        await failpoint.reach(Failpoint.PERSONS_AFTER_GENERATION_LOCK)
        if broken := steps.violations(placed, on=generation.basis_date):
            raise invalid(*broken)
        new_ids, earlier = await _take_receipts(tx, attempt, placed)
        await failpoint.reach(Failpoint.PERSONS_AFTER_RECEIPT)
        writes = steps.resolve(placed, new_ids, earlier)
        if writes:
            await self._record(tx, attempt, writes, generation.basis_date)
        await failpoint.reach(Failpoint.PERSONS_BEFORE_COMMIT)
        return [new_ids.get(each.key) or earlier[each.key] for each in placed]

    async def _record(self, tx: Transaction, attempt: Attempt, writes: Sequence[Write], basis_date: date) -> None:
        """Record a version per write, and supersede what those on record said of the days from the basis date on."""
        references = await References.locked(tx, attempt, writes, basis_date)
        first = [new_version(self._ring, write, basis_date) for write in writes]
        replaced = [(write, version) for write in writes for version in references.versions_of(write)]
        kept = [rest for write, version in replaced if (rest := remainder(self._ring, write, version, basis_date))]
        recorded_at = await keys.insert(tx, [version.data_key for version in first + kept])
        references.require_before(recorded_at)
        await versions.supersede(tx, [version.version_id for _, version in replaced], recorded_at)
        await entities.insert(tx, attempt, [_entity(write) for write in writes if not write.on_record], recorded_at)
        await versions.insert(tx, attempt, [version.row for version in first + kept], recorded_at)
        await failpoint.reach(Failpoint.PERSONS_AFTER_ENTITY)
        staged = [
            recorded(write, version.row.version_id, basis_date) for write, version in zip(writes, first, strict=True)
        ]
        hold = Hold(operation_id=attempt.operation_id, generation=attempt.generation)
        await outbox.stage(tx, *staged, hold=hold)
        await failpoint.reach(Failpoint.PERSONS_AFTER_EVENT)


async def _take_receipts(
    tx: Transaction, attempt: Attempt, placed: Sequence[PlacedStep]
) -> tuple[dict[str, uuid.UUID], dict[str, uuid.UUID]]:
    """Write receipts. Returns, by key, the ids of steps that had none, and those of replays and earlier steps named."""
    ids = {each.key: each.named_id or uuid.uuid4() for each in placed}
    taken = await receipts.insert(tx, attempt, ids)
    named = steps.names_of([each for each in placed if each.key in taken])
    wanted = (ids.keys() | named) - taken
    earlier = await receipts.read(tx, attempt, wanted) if wanted else {}
    return {key: ids[key] for key in taken}, earlier


def _entity(write: Write) -> NewEntity:
    return NewEntity(
        kind=write.kind, entity_id=write.entity_id, household_id=write.household_id, person_id=write.person_id
    )
