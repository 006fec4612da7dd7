"""Cross-field rules of people, households, memberships and incomes."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from canopy.persons.v1.household_pb2 import (
    Address,
    HouseholdDetails,
    MemberDetails,
    NoFixedAddress,
    PersonRef,
    RelationToHead,
    Tie,
    TieKind,
)
from canopy.persons.v1.income_pb2 import Frequency, IncomeDetails, IncomeKind
from canopy.persons.v1.person_pb2 import (
    Circumstance,
    CircumstanceKind,
    Citizenship,
    CitizenshipStatus,
    DatePrecision,
    Education,
    ImmigrationStatus,
    PartialDate,
    PersonDetails,
    PersonName,
    RaceEthnicity,
    TaxpayerNumber,
    TaxpayerNumberKind,
    TaxpayerNumberStatus,
)
from services.kernel import fields
from services.kernel.household_rules import (
    earliest_day,
    household_violations,
    income_violations,
    member_violations,
    person_ref_violations,
    person_violations,
)

TODAY = date(2026, 3, 14)
EXACT = DatePrecision.DATE_PRECISION_EXACT
MONTH = DatePrecision.DATE_PRECISION_MONTH
YEAR = DatePrecision.DATE_PRECISION_YEAR
ABOUT = DatePrecision.DATE_PRECISION_ABOUT
HELD = TaxpayerNumberStatus.TAXPAYER_NUMBER_STATUS_HELD
SSN = TaxpayerNumberKind.TAXPAYER_NUMBER_KIND_SSN
ITIN = TaxpayerNumberKind.TAXPAYER_NUMBER_KIND_ITIN
PREGNANCY = CircumstanceKind.CIRCUMSTANCE_KIND_PREGNANCY
VETERAN = CircumstanceKind.CIRCUMSTANCE_KIND_VETERAN


def person(**parts: Any) -> PersonDetails:
    """Build a person who breaks no rule, but for `parts`."""
    parts.setdefault("name", PersonName(given="Zoë", family="Nguyễn"))
    return PersonDetails(**parts)


def period(message: type[Any], start: str, end: str, **parts: Any) -> Any:
    """Build a message with a period; `from` is a keyword of Python."""
    return message(**{"from": start, "until": end}, **parts)


def broken(details: PersonDetails) -> list[tuple[str, str]]:
    """List the broken rules of a person at "p"."""
    return [(found.field, found.rule) for found in person_violations(details, "p", on=TODAY)]


def test_plain_messages_break_no_rule() -> None:
    """FIN-27: the least that a filing may say is enough: a name, an address, a relation, an amount."""
    home = Address(lines=["1 Main St"], city="Albany", state="NY", zip="12207")
    relation = RelationToHead.RELATION_TO_HEAD_HEAD
    pay = IncomeDetails(kind=IncomeKind.INCOME_KIND_WAGES, amount_cents=1, frequency=Frequency.FREQUENCY_MONTHLY)

    assert broken(person()) == []
    assert household_violations(HouseholdDetails(home=home)) == []
    assert member_violations(MemberDetails(relation=relation)) == []
    assert income_violations(pay) == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (PersonName(given="Ana"), [("p.name.family", "required")]),
        (PersonName(given="Sukarno", single_name=True), []),
        (PersonName(given="Ana", family="Diaz", single_name=True), [("p.name.family", "not_applicable")]),
    ],
)
def test_family_name_or_single_name(name: PersonName, expected: list[tuple[str, str]]) -> None:
    """APP-05: a person has a family name, or says that there is only one name; never a filler."""
    assert broken(person(name=name)) == expected


@pytest.mark.parametrize(
    ("precision", "value", "rules"),
    [
        (EXACT, "1984-02-29", []),
        (EXACT, "1985-02-29", ["fits_precision"]),
        (EXACT, "1984-02", ["fits_precision"]),
        (EXACT, "1984-02-29T00", ["fits_precision"]),
        (EXACT, "2026-03-14", []),
        (EXACT, "2026-03-15", ["in_the_future"]),
        (MONTH, "1984-02", []),
        (MONTH, "1984-13", ["fits_precision"]),
        (MONTH, "1984", ["fits_precision"]),
        (MONTH, "2026-03", []),
        (MONTH, "2026-04", ["in_the_future"]),
        (YEAR, "1984", []),
        (YEAR, "1984-02-29", ["fits_precision"]),
        (YEAR, "1849", ["fits_precision"]),
        (YEAR, "१९८४", ["fits_precision"]),
        (ABOUT, "1984", []),
        (ABOUT, "2027", ["in_the_future"]),
    ],
)
def test_date_of_birth_fits_its_precision_and_is_past(precision: DatePrecision, value: str, rules: list[str]) -> None:
    """PER-09: a date of birth says exactly as much as is known, is a real date, and nobody is born tomorrow."""
    found = broken(person(birth_date=PartialDate(precision=precision, value=value)))

    assert found == [("p.birth_date.value", rule) for rule in rules]


def test_earliest_day_of_a_partial_date() -> None:
    """PER-09: what is not known is not invented: a month counts from its first day, a year from 1 January."""
    assert earliest_day(PartialDate(precision=EXACT, value="1984-02-29")) == date(1984, 2, 29)
    assert earliest_day(PartialDate(precision=MONTH, value="1984-02")) == date(1984, 2, 1)
    assert earliest_day(PartialDate(precision=ABOUT, value="1984")) == date(1984, 1, 1)
    assert earliest_day(PartialDate(precision=YEAR, value="84")) is None


@pytest.mark.parametrize(
    ("death", "rules"),
    [
        ("2020-01-01", []),
        ("1984-05-01", []),
        ("1984-04-30", ["before_birth"]),
        ("2026-03-15", ["in_the_future"]),
        ("never", []),
    ],
)
def test_death_follows_birth(death: str, rules: list[str]) -> None:
    """FIN-09: a death lies between birth and today; a broken format is the field options' finding."""
    details = person(birth_date=PartialDate(precision=MONTH, value="1984-05"), death_date=death)

    assert broken(details) == [("p.death_date", rule) for rule in rules]


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (TaxpayerNumber(status=HELD, kind=SSN, number="123456789", verified=True), []),
        (TaxpayerNumber(status=HELD, kind=ITIN, number="912345678"), []),
        (TaxpayerNumber(status=HELD), [("kind", "required"), ("number", "required")]),
        (
            TaxpayerNumber(status=TaxpayerNumberStatus.TAXPAYER_NUMBER_STATUS_NONE, kind=SSN, number="123456789"),
            [("kind", "not_applicable"), ("number", "not_applicable")],
        ),
        (
            TaxpayerNumber(status=TaxpayerNumberStatus.TAXPAYER_NUMBER_STATUS_NOT_ASKED, verified=True),
            [("verified", "not_applicable")],
        ),
        (TaxpayerNumber(status=HELD, kind=ITIN, number="123456789"), [("number", "never_issued")]),
        *(
            (TaxpayerNumber(status=HELD, kind=SSN, number=number), [("number", "never_issued")])
            for number in ("000123456", "666123456", "900123456", "123006789", "123450000")
        ),
    ],
)
def test_taxpayer_number_is_given_exactly_when_held(number: TaxpayerNumber, expected: list[tuple[str, str]]) -> None:
    """FIN-09: a number comes with its kind exactly when it is held, and can have been issued."""
    found = broken(person(taxpayer_number=number))

    assert found == [(f"p.taxpayer_number.{field}", rule) for field, rule in expected]


def test_not_answered_stands_alone() -> None:
    """FIN-09: who did not answer the question on race and ethnicity gave no answer to it."""
    none, white = RaceEthnicity.RACE_ETHNICITY_NOT_ANSWERED, RaceEthnicity.RACE_ETHNICITY_WHITE

    assert broken(person(race_ethnicity=[none])) == []
    assert broken(person(race_ethnicity=[white, none])) == [("p.race_ethnicity", "stands_alone")]


def test_immigration_belongs_to_eligible_non_citizens() -> None:
    """FIN-09: immigration status and five-year bar are only of an eligible non-citizen."""
    parts: dict[str, Any] = {
        "immigration_status": ImmigrationStatus.IMMIGRATION_STATUS_REFUGEE,
        "five_year_bar_end": "2027-01-01",
    }
    eligible = CitizenshipStatus.CITIZENSHIP_STATUS_ELIGIBLE_NON_CITIZEN
    citizen = CitizenshipStatus.CITIZENSHIP_STATUS_CITIZEN

    assert broken(person(citizenship=Citizenship(status=eligible, **parts))) == []
    assert broken(person(citizenship=Citizenship(status=citizen, **parts))) == [
        ("p.citizenship.immigration_status", "not_applicable"),
        ("p.citizenship.five_year_bar_end", "not_applicable"),
    ]


def test_highest_grade_exactly_with_grades() -> None:
    """FIN-09: the highest grade is told exactly where the schooling is counted in grades."""
    grades, college = Education.EDUCATION_GRADES, Education.EDUCATION_BACHELOR

    assert broken(person(education=grades, highest_grade=9)) == []
    assert broken(person(education=grades)) == [("p.highest_grade", "required")]
    assert broken(person(education=college, highest_grade=9)) == [("p.highest_grade", "not_applicable")]


def test_circumstances_have_forward_periods_and_due_dates_only_in_pregnancy() -> None:
    """FIN-09: a circumstance ends after it began; due date and children expected are of a pregnancy."""
    pregnant = period(Circumstance, "2026-01-01", "2026-01-02", kind=PREGNANCY, due_date="2026-08-01")
    veteran = Circumstance(kind=VETERAN, due_date="2026-08-01", expected_children=1)
    backwards = period(Circumstance, "2026-01-01", "2026-01-01", kind=VETERAN)

    assert broken(person(circumstances=[pregnant])) == []
    assert broken(person(circumstances=[pregnant, veteran, backwards])) == [
        ("p.circumstances[1].due_date", "not_applicable"),
        ("p.circumstances[1].expected_children", "not_applicable"),
        ("p.circumstances[2].until", "after_from"),
    ]


def test_household_has_a_residence() -> None:
    """FIN-09: a household lives somewhere: an address, or the city or county where it is without one."""
    lost = HouseholdDetails(no_fixed_address=NoFixedAddress(state="NY"))
    county = HouseholdDetails(no_fixed_address=NoFixedAddress(state="NY", county_fips="36001"))

    assert [(found.field, found.rule) for found in household_violations(HouseholdDetails(), "h")] == [
        ("h.residence", "required")
    ]
    assert [(found.field, found.rule) for found in household_violations(lost, "h")] == [
        ("h.no_fixed_address.city", "required")
    ]
    assert household_violations(county, "h") == []


def test_substitute_address_exactly_with_confidential_address() -> None:
    """FIN-09: a confidential address has its substitute, and only then is there one."""
    home = Address(lines=["1 Main St"], city="Albany", state="NY", zip="12207")
    both = HouseholdDetails(home=home, address_confidential=True, substitute=home)
    bare = HouseholdDetails(home=home, address_confidential=True)
    extra = HouseholdDetails(home=home, substitute=home)

    assert household_violations(both) == []
    assert [found.rule for found in household_violations(bare)] == ["required"]
    assert [found.rule for found in household_violations(extra)] == ["not_applicable"]


def test_ties_name_someone_and_run_forward() -> None:
    """FIN-09: a tie names the other person, position 0 included, and ends after it began."""
    parent = TieKind.TIE_KIND_PARENT
    first = Tie(to=PersonRef(index=0), kind=parent)
    nobody = Tie(to=PersonRef(), kind=parent)
    backwards = period(Tie, "2020-01-02", "2020-01-01", to=PersonRef(index=1), kind=parent)

    found = member_violations(MemberDetails(ties=[first, nobody, backwards]), "m")

    assert [(each.field, each.rule) for each in found] == [
        ("m.ties[1].to.target", "required"),
        ("m.ties[2].until", "after_from"),
    ]
    assert [each.field for each in person_ref_violations(PersonRef(), "steps[3].member.person")] == [
        "steps[3].member.person.target"
    ]


def test_weekly_hours_exactly_with_hourly_pay() -> None:
    """FIN-09: hours a week come with hourly pay and with nothing else; an income ends after it began."""
    hourly = IncomeDetails(frequency=Frequency.FREQUENCY_HOURLY)
    weekly = IncomeDetails(frequency=Frequency.FREQUENCY_WEEKLY, weekly_hours_hundredths=3750)
    backwards = period(IncomeDetails, "2026-02-01", "2026-01-01", frequency=Frequency.FREQUENCY_WEEKLY)

    assert [(found.field, found.rule) for found in income_violations(hourly, "i")] == [
        ("i.weekly_hours_hundredths", "required")
    ]
    assert [found.rule for found in income_violations(weekly)] == ["not_applicable"]
    assert [(found.field, found.rule) for found in income_violations(backwards)] == [("until", "after_from")]


def test_broken_formats_are_found_once() -> None:
    """FIN-09: what the field options refuse already is not told a second time, and nothing here fails on it."""
    birth = PartialDate(value="1984-02-29")
    details = person(birth_date=birth, citizenship=Citizenship(five_year_bar_end=""))

    assert broken(details) == []
    assert [(found.field, found.rule) for found in fields.violations(details)] == [("birth_date.precision", "required")]
