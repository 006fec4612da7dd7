"""What the service tells others: ids and kinds, nothing that is said of anybody: an event cannot be shredded."""

from __future__ import annotations

import uuid
from datetime import date

from google.protobuf.message import Message

from canopy.persons.v1.events_pb2 import HouseholdRecorded, IncomeRecorded, MemberRecorded, PersonRecorded
from services.chassis.outbox import NewEvent
from services.persons.domain.steps import Write
from services.persons.store.kinds import Kind


def recorded(write: Write, version_id: uuid.UUID, valid_from: date) -> NewEvent:
    """Say that a version was recorded."""
    data = _data(write, version_id=str(version_id), valid_from=valid_from.isoformat())
    return NewEvent(type=f"persons.{write.kind}.recorded", subject=f"{write.kind}/{write.entity_id}", data=data)


def _data(write: Write, *, version_id: str, valid_from: str) -> Message:
    entity_id = str(write.entity_id)
    match write.kind:
        case Kind.PERSON:
            return PersonRecorded(person_id=entity_id, version_id=version_id, valid_from=valid_from)
        case Kind.HOUSEHOLD:
            return HouseholdRecorded(household_id=entity_id, version_id=version_id, valid_from=valid_from)
        case Kind.MEMBER:
            return MemberRecorded(
                fact_id=entity_id,
                household_id=str(write.household_id),
                person_id=str(write.person_id),
                version_id=version_id,
                valid_from=valid_from,
            )
        case Kind.INCOME:
            return IncomeRecorded(
                fact_id=entity_id, person_id=str(write.person_id), version_id=version_id, valid_from=valid_from
            )
