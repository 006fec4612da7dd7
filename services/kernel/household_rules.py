"""What the parts of a person, household, membership or income must say together, beyond what each field allows alone.

Field options (services/kernel/fields.py) look at one field; these rules look across fields. They are pure: the same
message and day give the same answer in the service that takes a filing and in the one that records it. A field whose
own format is broken is left to the field options and breaks no rule here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from typing import Final

from canopy.persons.v1.household_pb2 import HouseholdDetails, MemberDetails, NoFixedAddress, PersonRef
from canopy.persons.v1.income_pb2 import Frequency, IncomeDetails
from canopy.persons.v1.person_pb2 import (
    Circumstance,
    CircumstanceKind,
    Citizenship,
    CitizenshipStatus,
    DatePrecision,
    Education,
    PartialDate,
    PersonDetails,
    PersonName,
    RaceEthnicity,
    TaxpayerNumber,
    TaxpayerNumberKind,
    TaxpayerNumberStatus,
)
from services.kernel.dates import FIRST_YEAR, LAST_YEAR, Month, parse_date
from services.kernel.errors import Violation

_PRECISIONS: Final = frozenset(DatePrecision.values()) - {DatePrecision.DATE_PRECISION_UNSPECIFIED}
_YEAR: Final = re.compile(r"[0-9]{4}")
# Never issued: areas 000, 666 and 9xx, group 00, serial 0000.
_SSN: Final = re.compile(r"(?!000|666|9)[0-9]{3}(?!00)[0-9]{2}(?!0000)[0-9]{4}")


def person_violations(details: PersonDetails, path: str = "", *, on: date) -> list[Violation]:
    """List what contradicts itself in a person.

    path: where the message stands in its request, "" for the request itself. on: the day the record is made; nobody is
    born, or dies, after it.
    """
    return list(_person(details, path, on))


def household_violations(details: HouseholdDetails, path: str = "") -> list[Violation]:
    """List what is missing or contradicts itself in a household."""
    return list(_household(details, path))


def member_violations(details: MemberDetails, path: str = "") -> list[Violation]:
    """List what contradicts itself in a membership. Whom a tie names is not looked at, only that it names someone."""
    return list(_member(details, path))


def income_violations(details: IncomeDetails, path: str = "") -> list[Violation]:
    """List what contradicts itself in an income."""
    return list(_income(details, path))


def person_ref_violations(ref: PersonRef, path: str = "") -> list[Violation]:
    """List what is missing in a reference: it must name a person, by id or by position."""
    return [] if ref.WhichOneof("target") else [Violation(field=_join(path, "target"), rule="required")]


def earliest_day(value: PartialDate) -> date | None:
    """Return the first day that a partial date can mean; None where the value does not fit its precision."""
    try:
        match value.precision:
            case DatePrecision.DATE_PRECISION_EXACT:
                return parse_date(value.value)
            case DatePrecision.DATE_PRECISION_MONTH:
                return Month.parse(value.value).first_day()
            case DatePrecision.DATE_PRECISION_YEAR | DatePrecision.DATE_PRECISION_ABOUT:
                return _first_day_of_year(value.value)
            case _:
                return None
    except ValueError:
        return None


def _first_day_of_year(text: str) -> date | None:
    if _YEAR.fullmatch(text) is None or not FIRST_YEAR <= int(text) <= LAST_YEAR:
        return None
    return date(int(text), 1, 1)


def _person(details: PersonDetails, path: str, on: date) -> Iterator[Violation]:
    yield from _name(details.name, _join(path, "name"))
    yield from _life(details, path, on)
    if details.HasField("taxpayer_number"):
        yield from _taxpayer_number(details.taxpayer_number, _join(path, "taxpayer_number"))
    answers = details.race_ethnicity
    if RaceEthnicity.RACE_ETHNICITY_NOT_ANSWERED in answers and len(answers) > 1:
        yield Violation(field=_join(path, "race_ethnicity"), rule="stands_alone")
    yield from _citizenship(details.citizenship, _join(path, "citizenship"))
    grades = details.education == Education.EDUCATION_GRADES
    yield from _exactly_when(grades, details.HasField("highest_grade"), _join(path, "highest_grade"))
    for index, circumstance in enumerate(details.circumstances):
        yield from _circumstance(circumstance, _join(path, f"circumstances[{index}]"))


def _name(name: PersonName, path: str) -> Iterator[Violation]:
    yield from _exactly_when(not name.single_name, bool(name.family), _join(path, "family"))


def _life(details: PersonDetails, path: str, on: date) -> Iterator[Violation]:
    born = None
    if details.HasField("birth_date"):
        field = _join(path, "birth_date.value")
        born = earliest_day(details.birth_date)
        if born is None and details.birth_date.precision in _PRECISIONS and details.birth_date.value:
            yield Violation(field=field, rule="fits_precision")
        if born is not None and born > on:
            yield Violation(field=field, rule="in_the_future")
    died = _day(details.death_date)
    if died is None:
        return
    if died > on:
        yield Violation(field=_join(path, "death_date"), rule="in_the_future")
    if born is not None and died < born:
        yield Violation(field=_join(path, "death_date"), rule="before_birth")


def _taxpayer_number(number: TaxpayerNumber, path: str) -> Iterator[Violation]:
    held = number.status == TaxpayerNumberStatus.TAXPAYER_NUMBER_STATUS_HELD
    kind = number.kind
    yield from _exactly_when(held, kind != TaxpayerNumberKind.TAXPAYER_NUMBER_KIND_UNSPECIFIED, _join(path, "kind"))
    yield from _exactly_when(held, bool(number.number), _join(path, "number"))
    if number.verified and not held:
        yield Violation(field=_join(path, "verified"), rule="not_applicable")
    if not (held and number.number):
        return
    if kind == TaxpayerNumberKind.TAXPAYER_NUMBER_KIND_SSN and not _SSN.fullmatch(number.number):
        yield Violation(field=_join(path, "number"), rule="never_issued")
    if kind == TaxpayerNumberKind.TAXPAYER_NUMBER_KIND_ITIN and not number.number.startswith("9"):
        yield Violation(field=_join(path, "number"), rule="never_issued")


def _citizenship(citizenship: Citizenship, path: str) -> Iterator[Violation]:
    if citizenship.status == CitizenshipStatus.CITIZENSHIP_STATUS_ELIGIBLE_NON_CITIZEN:
        return
    if citizenship.immigration_status:
        yield Violation(field=_join(path, "immigration_status"), rule="not_applicable")
    if citizenship.five_year_bar_end:
        yield Violation(field=_join(path, "five_year_bar_end"), rule="not_applicable")


def _circumstance(circumstance: Circumstance, path: str) -> Iterator[Violation]:
    yield from _period(getattr(circumstance, "from"), circumstance.until, path)
    if circumstance.kind == CircumstanceKind.CIRCUMSTANCE_KIND_PREGNANCY:
        return
    if circumstance.due_date:
        yield Violation(field=_join(path, "due_date"), rule="not_applicable")
    if circumstance.HasField("expected_children"):
        yield Violation(field=_join(path, "expected_children"), rule="not_applicable")


def _household(details: HouseholdDetails, path: str) -> Iterator[Violation]:
    residence = details.WhichOneof("residence")
    if residence is None:
        yield Violation(field=_join(path, "residence"), rule="required")
    elif residence == "no_fixed_address":
        yield from _no_fixed_address(details.no_fixed_address, _join(path, "no_fixed_address"))
    given = details.HasField("substitute")
    yield from _exactly_when(details.address_confidential, given, _join(path, "substitute"))


def _no_fixed_address(place: NoFixedAddress, path: str) -> Iterator[Violation]:
    if not (place.city or place.county_fips):
        yield Violation(field=_join(path, "city"), rule="required")


def _member(details: MemberDetails, path: str) -> Iterator[Violation]:
    for index, tie in enumerate(details.ties):
        here = _join(path, f"ties[{index}]")
        yield from _period(getattr(tie, "from"), tie.until, here)
        if tie.HasField("to"):
            yield from person_ref_violations(tie.to, _join(here, "to"))


def _income(details: IncomeDetails, path: str) -> Iterator[Violation]:
    hourly = details.frequency == Frequency.FREQUENCY_HOURLY
    given = details.HasField("weekly_hours_hundredths")
    yield from _exactly_when(hourly, given, _join(path, "weekly_hours_hundredths"))
    yield from _period(getattr(details, "from"), details.until, path)


def _period(start: str, end: str, path: str) -> Iterator[Violation]:
    first, after = _day(start), _day(end)
    if first is not None and after is not None and after <= first:
        yield Violation(field=_join(path, "until"), rule="after_from")


def _exactly_when(due: bool, given: bool, field: str) -> Iterator[Violation]:
    if due and not given:
        yield Violation(field=field, rule="required")
    if given and not due:
        yield Violation(field=field, rule="not_applicable")


def _day(text: str) -> date | None:
    try:
        return parse_date(text)
    except ValueError:
        return None


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
