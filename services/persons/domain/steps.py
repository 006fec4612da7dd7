"""Steps of a finalize: what each must say, and what it means once those that it names are known (FIN-03, FIN-18)."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from google.protobuf.message import Message

from canopy.errors.v1.reason_pb2 import Reason
from canopy.persons.v1.household_pb2 import MemberDetails, PersonRef
from canopy.persons.v1.step_pb2 import Step
from services.kernel import household_rules, step_key
from services.kernel.errors import Refusal, Violation
from services.persons.store.kinds import Kind

_ID_FIELDS: Final[Mapping[Kind, str]] = {
    Kind.PERSON: "person_id",
    Kind.HOUSEHOLD: "household_id",
    Kind.MEMBER: "fact_id",
    Kind.INCOME: "fact_id",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedStep:
    """A step with its place in the request: "steps[2]", or "step" where it comes alone."""

    path: str
    step: Step

    @property
    def kind(self) -> Kind:
        """What it writes. Needs: the step passed `violations`."""
        return Kind(self.step.WhichOneof("write"))

    @property
    def key(self) -> str:
        """The text form of its key. Needs: the step passed `violations`."""
        return step_key.to_text(self.step.key)

    @property
    def write(self) -> Any:
        """The message of its kind."""
        return getattr(self.step, self.kind)

    @property
    def id_field(self) -> str:
        """The path of the field that names an entity on record."""
        return f"{self.path}.{self.kind}.{_ID_FIELDS[self.kind]}"

    @property
    def named_id(self) -> uuid.UUID | None:
        """The entity on record that gets a new version; None where the step brings in a new one."""
        text: str = getattr(self.write, _ID_FIELDS[self.kind])
        return uuid.UUID(text) if text else None


def violations(steps: Sequence[PlacedStep], *, on: date) -> list[Violation]:
    """List what is wrong with steps whose fields keep their contract. on: the basis date of their generation."""
    found: list[Violation] = []
    keys: set[str] = set()
    named: set[uuid.UUID] = set()
    for placed in steps:
        shape = list(_shape(placed))
        found += shape or _content(placed, on)
        if shape:
            continue
        found += _repeated(placed.key, keys, f"{placed.path}.key")
        if placed.named_id:
            found += _repeated(placed.named_id, named, placed.id_field)
    return found


def _shape(placed: PlacedStep) -> Iterable[Violation]:
    written = placed.step.WhichOneof("write")
    if written is None:
        yield Violation(field=f"{placed.path}.write", rule="required")
        return
    try:
        word = step_key.to_text(placed.step.key).partition("/")[0]
    except ValueError:
        yield Violation(field=f"{placed.path}.key.index", rule="max")
        return
    if word != written:
        yield Violation(field=f"{placed.path}.key.kind", rule="matches_write")


def _content(placed: PlacedStep, on: date) -> list[Violation]:
    details = f"{placed.path}.{placed.kind}.details"
    match placed.kind:
        case Kind.PERSON:
            return household_rules.person_violations(placed.write.details, details, on=on)
        case Kind.HOUSEHOLD:
            return household_rules.household_violations(placed.write.details, details)
        case Kind.MEMBER:
            who = household_rules.person_ref_violations(placed.write.person, f"{placed.path}.member.person")
            return who + household_rules.member_violations(placed.write.details, details)
        case Kind.INCOME:
            who = household_rules.person_ref_violations(placed.write.earner, f"{placed.path}.income.earner")
            return who + household_rules.income_violations(placed.write.details, details)


def _repeated(value: Any, seen: set[Any], field: str) -> list[Violation]:
    if value in seen:
        return [Violation(field=field, rule="unique")]
    seen.add(value)
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """What a step means: an entity, new or on record, gets a version with these details.

    household_id: of a member. person_id: of a member or an income. ties: the people that a member's details name.
    """

    placed: PlacedStep
    key: str
    kind: Kind
    entity_id: uuid.UUID
    on_record: bool
    household_id: uuid.UUID | None
    person_id: uuid.UUID | None
    ties: frozenset[uuid.UUID]
    details: Message  # names people by id only


def resolve(
    steps: Sequence[PlacedStep], new_ids: Mapping[str, uuid.UUID], receipts: Mapping[str, uuid.UUID]
) -> list[Write]:
    """Work out what the steps without a receipt mean, in their order: a step may name earlier steps and receipts only.

    new_ids: of the steps without a receipt. receipts: of replays, and of steps of earlier batches, by step key.
    Raises Refusal(REASON_STEP_UNKNOWN) for a name that is neither.
    """
    known = _Known(receipts)
    writes: list[Write] = []
    for placed in steps:
        if placed.key not in receipts:
            writes.append(_write(placed, new_ids[placed.key], known))
            known.add(placed.key, new_ids[placed.key])
    return writes


def names_of(steps: Sequence[PlacedStep]) -> set[str]:
    """Collect the keys of all steps that the given ones name."""
    names: set[str] = set()
    for placed in steps:
        if placed.kind == Kind.MEMBER:
            names.add(step_key.to_text(step_key.household()))
        names.update(_key_of(ref) for ref in _refs(placed) if ref.WhichOneof("target") == "index")
    return names


def _refs(placed: PlacedStep) -> list[PersonRef]:
    match placed.kind:
        case Kind.MEMBER:
            return [placed.write.person, *(tie.to for tie in placed.write.details.ties)]
        case Kind.INCOME:
            return [placed.write.earner]
        case _:
            return []


def _key_of(ref: PersonRef) -> str:
    return f"person/{ref.index}"  # not by step_key: a position beyond the contract's is just one that nobody has


class _Known:
    """The steps that a step may name."""

    def __init__(self, receipts: Mapping[str, uuid.UUID]) -> None:
        self._ids = dict(receipts)

    def add(self, key: str, entity_id: uuid.UUID) -> None:
        self._ids[key] = entity_id

    def household(self, field: str) -> uuid.UUID:
        return self._named(step_key.to_text(step_key.household()), field)

    def person(self, ref: PersonRef, field: str) -> uuid.UUID:
        if ref.WhichOneof("target") == "person_id":
            return uuid.UUID(ref.person_id)
        return self._named(_key_of(ref), f"{field}.index")

    def _named(self, key: str, field: str) -> uuid.UUID:
        if key not in self._ids:
            raise Refusal(Reason.REASON_STEP_UNKNOWN, field=field)
        return self._ids[key]


def _write(placed: PlacedStep, entity_id: uuid.UUID, known: _Known) -> Write:
    household_id = person_id = None
    details: Message = placed.write.details
    ties: frozenset[uuid.UUID] = frozenset()
    match placed.kind:
        case Kind.MEMBER:
            household_id = known.household(f"{placed.path}.member")
            person_id = known.person(placed.write.person, f"{placed.path}.member.person")
            details, ties = _with_ids(placed.write.details, f"{placed.path}.member.details", known)
        case Kind.INCOME:
            person_id = known.person(placed.write.earner, f"{placed.path}.income.earner")
        case _:
            pass
    return Write(
        placed=placed,
        key=placed.key,
        kind=placed.kind,
        entity_id=entity_id,
        on_record=placed.named_id is not None,
        household_id=household_id,
        person_id=person_id,
        ties=ties,
        details=details,
    )


def _with_ids(details: MemberDetails, path: str, known: _Known) -> tuple[MemberDetails, frozenset[uuid.UUID]]:
    """Copy details with every tie naming a person by id: a position means nothing once the request is gone."""
    copy = MemberDetails()
    copy.CopyFrom(details)
    named: set[uuid.UUID] = set()
    for index, tie in enumerate(copy.ties):
        person_id = known.person(tie.to, f"{path}.ties[{index}].to")
        tie.to.person_id = str(person_id)
        named.add(person_id)
    return copy, frozenset(named)
