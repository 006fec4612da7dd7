"""Proto messages to values of the domain, and back. Requests have passed validation: formats hold."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp

from canopy.persons.v1 import finalize_service_pb2 as finalize_pb
from canopy.persons.v1 import households_service_pb2 as households_pb
from canopy.persons.v1 import persons_service_pb2 as persons_pb
from canopy.persons.v1.household_pb2 import HouseholdDetails, MemberDetails
from canopy.persons.v1.income_pb2 import IncomeDetails
from canopy.persons.v1.person_pb2 import PersonDetails
from canopy.persons.v1.version_pb2 import Absence, Tombstone, Version
from services.persons.domain.generations import State
from services.persons.domain.lookups import Absent, FactAnswer, Held, HouseholdAnswer, PersonAnswer, Shredded
from services.persons.store.generations import Attempt, GenerationCounts
from services.persons.store.versions import StoredVersion

_STATES: Final = {
    State.ACTIVE: finalize_pb.GENERATION_STATE_ACTIVE,
    State.CANCELLED: finalize_pb.GENERATION_STATE_CANCELLED,
    State.SEALED: finalize_pb.GENERATION_STATE_SEALED,
    State.RELEASE_BLOCKED: finalize_pb.GENERATION_STATE_RELEASE_BLOCKED,
}


def ids(texts: Iterable[str]) -> list[uuid.UUID]:
    """Read ids."""
    return [uuid.UUID(text) for text in texts]


def attempt(message: finalize_pb.Generation | finalize_pb.CancelOperationRequest) -> Attempt:
    """Read the name of a generation."""
    return Attempt(operation_id=uuid.UUID(message.operation_id), generation=message.generation)


def instant(message: Timestamp) -> datetime:
    """Read an instant, to the microsecond, which is what the database keeps."""
    return message.ToDatetime(tzinfo=UTC)


def timestamp(moment: datetime) -> Timestamp:
    """Write an instant."""
    message = Timestamp()
    message.FromDatetime(moment)
    return message


def generation_status(counts: GenerationCounts) -> finalize_pb.GenerationStatus:
    """Write where a generation stands."""
    return finalize_pb.GenerationStatus(
        generation=counts.generation,
        state=_STATES[State(counts.state)],
        basis_date=counts.basis_date.isoformat() if counts.basis_date else "",
        receipts=counts.receipts,
        held_events=counts.held_events,
        quarantined=counts.quarantined,
        changed_at=timestamp(counts.changed_at),
    )


def person_entry(answer: PersonAnswer) -> persons_pb.PersonEntry:
    """Write what is known of a person."""
    entry = persons_pb.PersonEntry(person_id=str(answer.person_id))
    match answer.result:
        case Held(version=stored, content=content):
            state = persons_pb.PersonState(version=version(stored), details=PersonDetails.FromString(content))
            entry.state.CopyFrom(state)
        case Shredded() as shredded:
            entry.tombstone.CopyFrom(tombstone(shredded))
        case Absent() as absent:
            entry.absent = absence(absent)
    return entry


def household_entry(answer: HouseholdAnswer) -> households_pb.HouseholdEntry:
    """Write what is known of a household, its members and their incomes."""
    entry = households_pb.HouseholdEntry(household_id=str(answer.household_id))
    match answer.result:
        case Held(version=stored, content=content):
            state = households_pb.HouseholdState(
                version=version(stored),
                details=HouseholdDetails.FromString(content),
                members=[_member(member) for member in answer.members],
                incomes=[_income(income) for income in answer.incomes],
            )
            entry.state.CopyFrom(state)
        case Shredded() as shredded:
            entry.tombstone.CopyFrom(tombstone(shredded))
        case Absent() as absent:
            entry.absent = absence(absent)
    return entry


def version(stored: StoredVersion) -> Version:
    """Write which version answered."""
    return Version(
        version_id=str(stored.version_id),
        valid_from=stored.valid_from.isoformat(),
        valid_until=stored.valid_until.isoformat() if stored.valid_until else "",
        recorded_at=timestamp(stored.recorded_at),
    )


def tombstone(shredded: Shredded) -> Tombstone:
    """Write that there was something."""
    return Tombstone(shredded_at=timestamp(shredded.shredded_at))


def absence(absent: Absent) -> Absence:
    """Write why there is nothing."""
    return Absence.ABSENCE_NOT_VALID_ON_DATE if absent.known else Absence.ABSENCE_UNKNOWN


def _member(answer: FactAnswer) -> households_pb.MemberState:
    state = households_pb.MemberState(
        fact_id=str(answer.fact_id), person_id=str(answer.person_id), version=version(answer.result.version)
    )
    match answer.result:
        case Held(content=content):
            state.details.CopyFrom(MemberDetails.FromString(content))
        case Shredded() as shredded:
            state.tombstone.CopyFrom(tombstone(shredded))
    return state


def _income(answer: FactAnswer) -> persons_pb.IncomeState:
    state = persons_pb.IncomeState(
        fact_id=str(answer.fact_id), person_id=str(answer.person_id), version=version(answer.result.version)
    )
    match answer.result:
        case Held(content=content):
            state.details.CopyFrom(IncomeDetails.FromString(content))
        case Shredded() as shredded:
            state.tombstone.CopyFrom(tombstone(shredded))
    return state
