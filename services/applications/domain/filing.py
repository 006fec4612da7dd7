"""What a filing must say as a whole, beyond what each of its fields allows (FIN-06, DRF-12).

All of it is checked before a submit is begun, so that an applicant can always correct and submit again. Pure: the
persons service checks the parts it records by the same rules (services/kernel/household_rules.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date
from typing import Final

from canopy.applications.v1.application_pb2 import Confidentiality, FilingKind
from canopy.applications.v1.finalize_pb2 import Contact, ContactKind, FiledPerson, FinalizeRequest
from canopy.persons.v1.household_pb2 import MemberDetails, RelationToHead
from canopy.persons.v1.person_pb2 import TaxpayerNumberStatus
from services.kernel.errors import Violation
from services.kernel.household_rules import (
    household_violations,
    income_violations,
    member_violations,
    person_violations,
)

_ADDRESS_CONFIDENTIAL: Final = frozenset(
    {
        Confidentiality.CONFIDENTIALITY_ADDRESS_CONFIDENTIAL,
        Confidentiality.CONFIDENTIALITY_BOTH,
    }
)


def filing_violations(request: FinalizeRequest, path: str, *, on: date) -> list[Violation]:
    """List what is missing or contradicts itself in a request whose fields keep their contract, form included.

    path: where the request stands in the message that carried it. on: the agency's day.
    """
    return list(_filing(request, path, on))


def _filing(request: FinalizeRequest, path: str, on: date) -> Iterator[Violation]:
    initial = request.kind == FilingKind.FILING_KIND_INITIAL
    if initial and request.filed_application_id:
        yield Violation(field=f"{path}.filed_application_id", rule="not_applicable")
    if not initial and not request.filed_application_id:
        yield Violation(field=f"{path}.filed_application_id", rule="required")
    if request.submitted_by >= len(request.people):
        yield Violation(field=f"{path}.submitted_by", rule="position")
    yield from _people(request, path, on)
    yield from _household(request, path)
    yield from _incomes(request, path)
    for index, contact in enumerate(request.contacts):
        yield from _contact(contact, f"{path}.contacts[{index}]")
    texts = [consent.text for consent in request.consents]
    yield from _repeated(texts, f"{path}.consents", "text")
    if request.representative.until and date.fromisoformat(request.representative.until) <= on:
        yield Violation(field=f"{path}.representative.until", rule="past")


def _people(request: FinalizeRequest, path: str, on: date) -> Iterator[Violation]:
    for index, person in enumerate(request.people):
        here = f"{path}.people[{index}]"
        yield from person_violations(person.details, f"{here}.details", on=on)
        yield from _applicant(person, here)
        if person.HasField("member"):
            yield from member_violations(person.member, f"{here}.member")
            yield from _ties(person.member, index, request, f"{here}.member")
    yield from _repeated([person.person_id for person in request.people], f"{path}.people", "person_id")
    yield from _repeated([person.member_fact_id for person in request.people], f"{path}.people", "member_fact_id")
    numbers = [person.details.taxpayer_number.number for person in request.people]
    yield from _repeated(numbers, f"{path}.people", "details.taxpayer_number.number")
    yield from _repeated([_likeness(person) for person in request.people], f"{path}.people", "details")
    if request.kind == FilingKind.FILING_KIND_INITIAL and not any(person.programs for person in request.people):
        yield Violation(field=f"{path}.people", rule="nobody_applies")
    heads = [person.member.relation for person in request.people].count(RelationToHead.RELATION_TO_HEAD_HEAD)
    # Another kind of filing may leave the head of a household on record unsaid.
    if heads > 1 or (heads == 0 and request.kind == FilingKind.FILING_KIND_INITIAL):
        yield Violation(field=f"{path}.people", rule="one_head")


def _likeness(person: FiledPerson) -> str:
    """Spell what two entries of one person have in common: the name, however capitalised, and the date of birth."""
    name, born = person.details.name, person.details.birth_date
    parts = (name.given, name.middle, name.family, name.suffix, f"{born.precision} {born.value}")
    return "\x1f".join(parts).casefold()


def _applicant(person: FiledPerson, path: str) -> Iterator[Violation]:
    """Programs are for members; of who does not apply, citizenship is never asked."""
    applies = bool(person.programs)
    member = person.HasField("member")
    if applies and not member:
        yield Violation(field=f"{path}.programs", rule="members_only")
    if person.details.HasField("citizenship") and not applies:
        yield Violation(field=f"{path}.details.citizenship", rule="not_applicable")
    not_asked = TaxpayerNumberStatus.TAXPAYER_NUMBER_STATUS_NOT_ASKED
    if applies and person.details.taxpayer_number.status == not_asked:
        yield Violation(field=f"{path}.details.taxpayer_number.status", rule="not_applicable")
    if person.member_fact_id and not member:
        yield Violation(field=f"{path}.member_fact_id", rule="not_applicable")
    if person.member_fact_id and not person.person_id:
        yield Violation(field=f"{path}.person_id", rule="required")


def _ties(member: MemberDetails, holder: int, request: FinalizeRequest, path: str) -> Iterator[Violation]:
    for index, tie in enumerate(member.ties):
        here = f"{path}.ties[{index}].to"
        match tie.to.WhichOneof("target"):
            case "index" if tie.to.index >= len(request.people):
                yield Violation(field=f"{here}.index", rule="position")
            case "index" if tie.to.index == holder:
                yield Violation(field=f"{here}.index", rule="self")
            case "person_id" if tie.to.person_id == request.people[holder].person_id:
                yield Violation(field=f"{here}.person_id", rule="self")
            case _:
                pass


def _household(request: FinalizeRequest, path: str) -> Iterator[Violation]:
    household = request.household
    here = f"{path}.household"
    yield from household_violations(household.details, f"{here}.details")
    if household.details.address_confidential != (request.confidentiality in _ADDRESS_CONFIDENTIAL):
        yield Violation(field=f"{here}.details.address_confidential", rule="matches_confidentiality")
    if not household.household_id and any(person.member_fact_id for person in request.people):
        yield Violation(field=f"{here}.household_id", rule="required")


def _incomes(request: FinalizeRequest, path: str) -> Iterator[Violation]:
    for index, income in enumerate(request.incomes):
        here = f"{path}.incomes[{index}]"
        yield from income_violations(income.details, f"{here}.details")
        if income.earner >= len(request.people):
            yield Violation(field=f"{here}.earner", rule="position")
        elif income.fact_id and not request.people[income.earner].person_id:
            yield Violation(field=f"{path}.people[{income.earner}].person_id", rule="required")
    yield from _repeated([income.fact_id for income in request.incomes], f"{path}.incomes", "fact_id")


def _contact(contact: Contact, path: str) -> Iterator[Violation]:
    by_email = contact.kind == ContactKind.CONTACT_KIND_EMAIL
    for name, value, due in (("phone", contact.phone, not by_email), ("email", contact.email, by_email)):
        if bool(value) != due:
            yield Violation(field=f"{path}.{name}", rule="required" if due else "not_applicable")


def _repeated(values: Iterable[str], path: str, name: str) -> Iterator[Violation]:
    """Name every item whose value, where it has one, stands in an earlier item too."""
    seen: set[str] = set()
    for index, value in enumerate(values):
        if value and value in seen:
            yield Violation(field=f"{path}[{index}].{name}", rule="unique")
        seen.add(value)
