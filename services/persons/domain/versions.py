"""Versions as they are written and read: each payload under a data key of its own (PER-05)."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import date

from services.chassis.envelope import DataKey, KeyRing, Place, seal, unseal
from services.persons.domain.steps import Write
from services.persons.store.kinds import VERSION_TABLES, Kind
from services.persons.store.versions import NewVersion, StoredVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedVersion:
    """A version ready to store, with its data key."""

    row: NewVersion
    data_key: DataKey


def new_version(ring: KeyRing, write: Write, basis_date: date) -> SealedVersion:
    """Seal what a step says; it holds from the basis date on."""
    content = write.details.SerializeToString(deterministic=True)
    return _sealed(ring, write, content, basis_date, None)


def remainder(ring: KeyRing, write: Write, replaced: StoredVersion, basis_date: date) -> SealedVersion | None:
    """Seal again what a replaced version said of the days before the basis date; None where it said nothing of them.

    It is a version of its own: the replaced one keeps saying, for readers of an earlier instant, what it always said.
    """
    if replaced.valid_from >= basis_date:
        return None
    return _sealed(ring, write, content_of(ring, replaced), replaced.valid_from, basis_date)


def content_of(ring: KeyRing, stored: StoredVersion) -> bytes:
    """Return the serialised details of a version that is not shredded.

    Raises UnsealError, UnknownKeyError: a fault of ours, or tampering.
    """
    assert stored.wrapped_key is not None
    key = ring.unwrap(stored.dek_id, stored.kid, stored.wrapped_key)
    return unseal(key, _place(stored.kind, stored.version_id, stored.dek_id), stored.payload)


def _place(kind: Kind, version_id: uuid.UUID, dek_id: uuid.UUID) -> Place:
    return Place(table=VERSION_TABLES[kind], row_id=version_id, dek_id=dek_id)


def _sealed(ring: KeyRing, write: Write, content: bytes, valid_from: date, valid_until: date | None) -> SealedVersion:
    version_id = uuid.uuid4()
    data_key = ring.mint()
    row = NewVersion(
        kind=write.kind,
        version_id=version_id,
        entity_id=write.entity_id,
        valid_from=valid_from,
        valid_until=valid_until,
        dek_id=data_key.dek_id,
        payload=seal(data_key.key, _place(write.kind, version_id, data_key.dek_id), content),
        step_key=write.key,
    )
    return SealedVersion(row=row, data_key=data_key)
