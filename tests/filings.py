"""Filings for tests: households of any size that break no rule, and arbitrary ones for properties."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from canopy.applications.v1.application_pb2 import Confidentiality, FilingKind, Program
from canopy.applications.v1.finalize_pb2 import (
    Consent,
    Contact,
    ContactKind,
    FiledHousehold,
    FiledIncome,
    FiledPerson,
    FinalizeRequest,
    Signature,
)
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
    Citizenship,
    CitizenshipStatus,
    DatePrecision,
    PartialDate,
    PersonDetails,
    PersonName,
)

HEAD = RelationToHead.RELATION_TO_HEAD_HEAD
CHILD = RelationToHead.RELATION_TO_HEAD_CHILD
SNAP = Program.PROGRAM_SNAP
MEDICAID = Program.PROGRAM_MEDICAID
GIVEN_NAMES = ("Maria", "Ánh", "José", "Ольга", "محمد", "さくら", "Zoë", "J’Marcus", "Siân", "ኢየሩሳሌም")


def filing(people: int = 1, *, incomes: int = 1) -> FinalizeRequest:
    """Build an initial filing of a head and children, in order in every respect."""
    return FinalizeRequest(
        kind=FilingKind.FILING_KIND_INITIAL,
        people=[member(index) for index in range(people)],
        household=FiledHousehold(details=HouseholdDetails(home=address())),
        incomes=[income(index % people) for index in range(incomes)],
        submitted_by=0,
        confidentiality=Confidentiality.CONFIDENTIALITY_STANDARD,
        contacts=[Contact(kind=ContactKind.CONTACT_KIND_TEXT, phone="+12125550142", safe=True)],
        language="en",
        signature=Signature(name="Maria Alvarez", statement_version="2026-01"),
        consents=[Consent(text="data-use", version="3")],
    )


def member(index: int, **parts: Any) -> FiledPerson:
    """Build the person at `index`: the head at 0, her children after her."""
    fields: dict[str, Any] = {
        "details": PersonDetails(
            name=PersonName(given=GIVEN_NAMES[index % len(GIVEN_NAMES)], family="Alvarez"),
            birth_date=PartialDate(precision=DatePrecision.DATE_PRECISION_YEAR, value=str(1991 + index)),
            citizenship=Citizenship(status=CitizenshipStatus.CITIZENSHIP_STATUS_CITIZEN),
        ),
        "programs": [SNAP, MEDICAID] if index == 0 else [SNAP],
        "member": MemberDetails(
            relation=HEAD if index == 0 else CHILD,
            shares_meals=True,
            ties=[tie(0, TieKind.TIE_KIND_PARENT)] if index else [],
        ),
    }
    return FiledPerson(**{**fields, **parts})


def tie(index: int, kind: TieKind = TieKind.TIE_KIND_SPOUSE) -> Tie:
    """Build a tie to the person at `index`."""
    return Tie(to=PersonRef(index=index), kind=kind)


def income(earner: int) -> FiledIncome:
    """Build a monthly wage of the person at `earner`."""
    details = IncomeDetails(
        kind=IncomeKind.INCOME_KIND_WAGES, amount_cents=180_000, frequency=Frequency.FREQUENCY_MONTHLY
    )
    return FiledIncome(earner=earner, details=details)


def address(**parts: Any) -> Address:
    """Build a postal address."""
    return Address(**{"lines": ["12 Elm Street"], "city": "Albany", "state": "NY", "zip": "12207", **parts})


def filings() -> st.SearchStrategy[FinalizeRequest]:
    """Draw filings that break no rule: 1 to 100 people, some outside of the household, names of many scripts."""
    return st.builds(
        _drawn,
        names=st.lists(_names(), min_size=1, max_size=100),
        outside=st.sets(st.integers(1, 99), max_size=10),
        earners=st.lists(st.integers(0, 99), max_size=30),
        homeless=st.booleans(),
    )


def _names() -> st.SearchStrategy[str]:
    letters = st.characters(categories=("Lu", "Ll", "Lo"), min_codepoint=0x41)
    return st.text(letters, min_size=1, max_size=12)


def _drawn(names: list[str], outside: set[int], earners: list[int], *, homeless: bool) -> FinalizeRequest:
    drawn = filing(len(names), incomes=0)
    for index, name in enumerate(names):
        person = drawn.people[index]
        person.details.name.given = name
        if index in outside:
            person.ClearField("member")
            person.ClearField("programs")
            person.details.ClearField("citizenship")
    drawn.incomes.extend(income(earner % len(names)) for earner in earners)
    if homeless:
        drawn.household.details.no_fixed_address.CopyFrom(NoFixedAddress(city="Albany", state="NY"))
    return drawn
