"""What is known of people and households on a day (PER-03), as known at an instant (PER-04)."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final, TypeAlias

from canopy.errors.v1.reason_pb2 import Reason
from canopy.persons.v1.person_pb2 import PersonDetails
from services.chassis.envelope import KeyRing
from services.chassis.postgres import Database
from services.kernel.errors import Refusal
from services.persons.domain.versions import content_of
from services.persons.store import lookups
from services.persons.store.kinds import Kind
from services.persons.store.lookups import Found
from services.persons.store.versions import StoredVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A version holds; content: its details, serialised."""

    version: StoredVersion
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Shredded:
    """A version holds, and its data was shredded."""

    version: StoredVersion
    shredded_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    """No version holds. known: the entity is on record all the same."""

    known: bool


Result: TypeAlias = Held | Shredded | Absent


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonAnswer:
    """What is known of one person asked for."""

    person_id: uuid.UUID
    result: Result


@dataclass(frozen=True, slots=True, kw_only=True)
class FactAnswer:
    """A membership or an income that holds."""

    fact_id: uuid.UUID
    person_id: uuid.UUID
    result: Held | Shredded


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseholdAnswer:
    """What is known of one household asked for; members and incomes only where its version holds."""

    household_id: uuid.UUID
    result: Result
    members: Sequence[FactAnswer]
    incomes: Sequence[FactAnswer]


class Lookups:
    """Answers reads. Every id gets an answer, in the order of the request."""

    def __init__(self, db: Database, ring: KeyRing, horizon: timedelta) -> None:
        """Prepare. horizon: how far back an instant must lie so that no transaction can still record anything at it."""
        self._db: Final = db
        self._ring: Final = ring
        self._horizon: Final = horizon

    async def persons(
        self, person_ids: Sequence[uuid.UUID], as_of: date, known_at: datetime | None
    ) -> tuple[list[PersonAnswer], datetime]:
        """Look people up. Returns the answers and the instant they hold for: known_at, or the database's clock.

        Raises Refusal(REASON_KNOWN_AT_TOO_RECENT).
        """
        found = await lookups.read_persons(self._db, person_ids, as_of, known_at)
        instant = self._settled(known_at, found[0].read_at)
        return [PersonAnswer(person_id=each.entity_id, result=self._result(each)) for each in found], instant

    async def households(
        self, household_ids: Sequence[uuid.UUID], as_of: date, known_at: datetime | None
    ) -> tuple[list[HouseholdAnswer], datetime]:
        """Look households up, with the members and their incomes that hold that day. See `persons`."""
        found = await lookups.read_households(self._db, household_ids, as_of, known_at)
        instant = self._settled(known_at, found[0].read_at)
        answers = [self._household(group) for _, group in itertools.groupby(found, key=lambda each: each.nth)]
        return answers, instant

    async def was_born_on(self, person_id: uuid.UUID, day: date, as_of: date) -> bool:
        """Tell whether the record says that a person was born on `day`, exactly; whatever is not known is a no."""
        answers, _ = await self.persons([person_id], as_of, None)
        match answers[0].result:
            case Held(content=content):
                # Only an exact date is spelt with a day.
                return PersonDetails.FromString(content).birth_date.value == day.isoformat()
            case _:
                return False

    def _settled(self, known_at: datetime | None, read_at: datetime) -> datetime:
        """Refuse an instant at which something may yet be recorded, by a transaction that is still open."""
        if known_at is None:
            return read_at
        if known_at > read_at - self._horizon:
            raise Refusal(Reason.REASON_KNOWN_AT_TOO_RECENT)
        return known_at

    def _household(self, group: Iterable[Found]) -> HouseholdAnswer:
        household, *facts = group
        return HouseholdAnswer(
            household_id=household.entity_id,
            result=self._result(household),
            members=self._facts(facts, Kind.MEMBER),
            incomes=self._facts(facts, Kind.INCOME),
        )

    def _facts(self, found: Iterable[Found], kind: Kind) -> list[FactAnswer]:
        return [
            FactAnswer(fact_id=each.entity_id, person_id=each.person_id, result=self._opened(each.version))
            for each in found
            if each.kind == kind and each.version and each.person_id
        ]

    def _result(self, found: Found) -> Result:
        return Absent(known=found.known) if found.version is None else self._opened(found.version)

    def _opened(self, version: StoredVersion) -> Held | Shredded:
        if version.shredded_at is not None:
            return Shredded(version=version, shredded_at=version.shredded_at)
        return Held(version=version, content=content_of(self._ring, version))
