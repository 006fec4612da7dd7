"""Entities on record that a write refers to: locked, read under the lock, and checked."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import TypeAlias

from canopy.errors.v1.reason_pb2 import Reason
from services.chassis.postgres import Transaction
from services.kernel import instruments
from services.kernel.errors import Refusal, Violation, invalid
from services.persons.domain.steps import Write
from services.persons.store import advisory, entities
from services.persons.store.advisory import LockClass, lock_key
from services.persons.store.entities import Reference
from services.persons.store.generations import Attempt
from services.persons.store.kinds import Kind
from services.persons.store.versions import StoredVersion

Entity: TypeAlias = tuple[Kind, uuid.UUID]


class References:
    """What is on record of the entities that writes refer to. Their locks are held until the transaction ends."""

    def __init__(self, found: Sequence[Reference]) -> None:
        self._found: dict[Entity, list[Reference]] = {}
        for reference in found:
            self._found.setdefault((reference.kind, reference.entity_id), []).append(reference)

    @classmethod
    async def locked(cls, tx: Transaction, attempt: Attempt, writes: Sequence[Write], basis_date: date) -> References:
        """Lock, read and check whatever on record the writes refer to; no such thing, no statement.

        Raises Refusal: REASON_ENTITY_NOT_FOUND, REASON_ENTITY_SHREDDED, REASON_INVALID_FIELD where a fact is another
        household's or person's, or where this attempt has written the entity already.
        """
        brought_in = {write.entity_id for write in writes if not write.on_record}
        needed = {entity for write in writes for entity in _entities(write) if entity[1] not in brought_in}
        if not needed:
            return cls([])
        await advisory.lock_all(tx, (entity_lock(entity_id) for _, entity_id in needed))
        references = cls(await entities.read_references(tx, {entity_id for _, entity_id in needed}, basis_date))
        for entity in sorted(needed):
            references.require_readable(entity)
        for write in writes:
            if write.on_record:
                references.require_writable(write, attempt)
        return references

    def require_readable(self, entity: Entity) -> None:
        """Refuse an entity that is not on record, or whose data is shredded."""
        kind, _ = entity
        if entity not in self._found:
            raise Refusal(Reason.REASON_ENTITY_NOT_FOUND, entity=kind)
        if any(found.version and found.version.shredded_at for found in self._found[entity]):
            raise Refusal(Reason.REASON_ENTITY_SHREDDED, entity=kind)

    def require_writable(self, write: Write, attempt: Attempt) -> None:
        """Refuse a fact of somebody else, and a second version by the same attempt."""
        for found in self._found[write.kind, write.entity_id]:
            if found.written_by == attempt:
                raise invalid(Violation(field=write.placed.id_field, rule="unique"))
            if found.household_id != write.household_id:
                raise invalid(Violation(field=write.placed.id_field, rule="same_household"))
            if found.person_id != write.person_id:
                raise invalid(Violation(field=write.placed.id_field, rule="same_person"))

    def versions_of(self, write: Write) -> list[StoredVersion]:
        """List the versions on record of a written entity that hold on the basis date or later."""
        return [found.version for found in self._found.get((write.kind, write.entity_id), []) if found.version]

    def require_before(self, instant: datetime) -> None:
        """Refuse to record at `instant` what would precede something recorded before: the clock has stepped back."""
        for found in self._found.values():
            if any(each.last_recorded_at and each.last_recorded_at >= instant for each in found):
                instruments.CLOCK_STEPPED_BACK.add(1)
                raise Refusal(Reason.REASON_CLOCK_STEPPED_BACK)


def entity_lock(entity_id: uuid.UUID) -> int:
    """Return the advisory key of an entity; whoever records something of it holds that lock."""
    return lock_key(LockClass.ENTITY, entity_id.bytes)


def _entities(write: Write) -> Iterator[Entity]:
    """Yield every entity that a write touches or names."""
    yield write.kind, write.entity_id
    if write.household_id:
        yield Kind.HOUSEHOLD, write.household_id
    if write.person_id:
        yield Kind.PERSON, write.person_id
    for person_id in write.ties:
        yield Kind.PERSON, person_id
