"""What a filing must say as a whole."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canopy.applications.v1.application_pb2 import Confidentiality, FilingKind
from canopy.applications.v1.finalize_pb2 import Consent, Contact, ContactKind, FinalizeRequest
from canopy.persons.v1.income_pb2 import Frequency
from canopy.persons.v1.person_pb2 import DatePrecision, TaxpayerNumberKind, TaxpayerNumberStatus
from services.applications.domain.filing import filing_violations
from services.kernel import fields
from tests import filings
from tests.filings import CHILD, HEAD, SNAP, address, filing, income, member, tie

TODAY = date(2026, 3, 14)
ID = str(uuid.UUID(int=1))


def broken(request: FinalizeRequest) -> set[tuple[str, str]]:
    assert fields.violations(request) == [], "the change breaks a field's own contract, so it tests nothing here"
    return {(violation.field, violation.rule) for violation in filing_violations(request, "request", on=TODAY)}


@given(filings.filings())
def test_filings_in_order_break_no_rule(request: FinalizeRequest) -> None:
    """DRF-12: households of any size, script and kind of residence can be filed."""
    assert broken(request) == set()


def _kind_with_application(request: FinalizeRequest) -> None:
    request.filed_application_id = ID


def _supplement_without_application(request: FinalizeRequest) -> None:
    request.kind = FilingKind.FILING_KIND_SUPPLEMENT


def _filer_out_of_range(request: FinalizeRequest) -> None:
    request.submitted_by = 2


def _nobody_applies(request: FinalizeRequest) -> None:
    for person in request.people:
        person.ClearField("programs")
        person.details.ClearField("citizenship")


def _two_heads(request: FinalizeRequest) -> None:
    request.people[1].member.relation = HEAD


def _no_head(request: FinalizeRequest) -> None:
    request.people[0].member.relation = CHILD


def _outsider_applies(request: FinalizeRequest) -> None:
    request.people[1].ClearField("member")


def _citizenship_of_non_applicant(request: FinalizeRequest) -> None:
    request.people[1].ClearField("programs")


def _applicant_never_asked(request: FinalizeRequest) -> None:
    request.people[1].details.taxpayer_number.status = TaxpayerNumberStatus.TAXPAYER_NUMBER_STATUS_NOT_ASKED


def _membership_of_outsider(request: FinalizeRequest) -> None:
    _outsider_applies(request)
    request.people[1].ClearField("programs")
    request.people[1].details.ClearField("citizenship")
    request.people[1].member_fact_id = ID
    request.people[1].person_id = ID
    request.household.household_id = ID


def _membership_of_new_person(request: FinalizeRequest) -> None:
    request.people[1].member_fact_id = ID
    request.household.household_id = ID


def _membership_in_new_household(request: FinalizeRequest) -> None:
    request.people[1].member_fact_id = ID
    request.people[1].person_id = ID


def _person_twice(request: FinalizeRequest) -> None:
    for person in request.people:
        person.person_id = ID


def _same_number_twice(request: FinalizeRequest) -> None:
    for person in request.people[:2]:
        number = person.details.taxpayer_number
        number.status = TaxpayerNumberStatus.TAXPAYER_NUMBER_STATUS_HELD
        number.kind = TaxpayerNumberKind.TAXPAYER_NUMBER_KIND_SSN
        number.number = "078051120"


def _same_person_twice(request: FinalizeRequest) -> None:
    request.people[1].details.name.CopyFrom(request.people[0].details.name)
    request.people[1].details.name.given = request.people[0].details.name.given.upper()
    request.people[1].details.birth_date.CopyFrom(request.people[0].details.birth_date)


def _representative_of_the_past(request: FinalizeRequest) -> None:
    request.representative.name = "John O’Dea"
    request.representative.until = "1990-01-01"


def _membership_twice(request: FinalizeRequest) -> None:
    request.household.household_id = ID
    for index, person in enumerate(request.people):
        person.person_id = str(uuid.UUID(int=index))
        person.member_fact_id = ID


def _tie_out_of_range(request: FinalizeRequest) -> None:
    request.people[0].member.ties.append(tie(2))


def _tie_to_self(request: FinalizeRequest) -> None:
    request.people[1].member.ties.append(tie(1))


def _tie_to_own_id(request: FinalizeRequest) -> None:
    request.people[1].person_id = ID
    own = request.people[1].member.ties[0]
    own.to.person_id = ID


def _tie_to_nobody(request: FinalizeRequest) -> None:
    request.people[1].member.ties[0].to.ClearField("target")


def _earner_out_of_range(request: FinalizeRequest) -> None:
    request.incomes[0].earner = 2


def _income_on_record_of_new_person(request: FinalizeRequest) -> None:
    request.incomes[0].fact_id = ID


def _income_twice(request: FinalizeRequest) -> None:
    request.people[0].person_id = ID
    request.incomes[0].fact_id = ID
    request.incomes.append(income(0))
    request.incomes[1].fact_id = ID


def _hourly_without_hours(request: FinalizeRequest) -> None:
    request.incomes[0].details.frequency = Frequency.FREQUENCY_HOURLY


def _text_without_phone(request: FinalizeRequest) -> None:
    request.contacts[0].ClearField("phone")


def _phone_of_email(request: FinalizeRequest) -> None:
    request.contacts[0].kind = ContactKind.CONTACT_KIND_EMAIL
    request.contacts[0].email = "maria@example.org"


def _email_without_address(request: FinalizeRequest) -> None:
    request.contacts.append(Contact(kind=ContactKind.CONTACT_KIND_EMAIL))


def _consent_twice(request: FinalizeRequest) -> None:
    request.consents.append(Consent(text="data-use", version="4"))


def _confidential_address_not_said(request: FinalizeRequest) -> None:
    request.confidentiality = Confidentiality.CONFIDENTIALITY_BOTH


def _confidential_address_not_asked(request: FinalizeRequest) -> None:
    request.household.details.address_confidential = True
    request.household.details.substitute.CopyFrom(address())


def _no_residence(request: FinalizeRequest) -> None:
    request.household.details.ClearField("residence")
    request.household.details.mailing.CopyFrom(address())


def _born_tomorrow(request: FinalizeRequest) -> None:
    request.people[1].details.birth_date.precision = DatePrecision.DATE_PRECISION_EXACT
    request.people[1].details.birth_date.value = "2026-03-15"


@pytest.mark.parametrize(
    ("change", "field", "rule"),
    [
        (_kind_with_application, "filed_application_id", "not_applicable"),
        (_supplement_without_application, "filed_application_id", "required"),
        (_filer_out_of_range, "submitted_by", "position"),
        (_nobody_applies, "people", "nobody_applies"),
        (_two_heads, "people", "one_head"),
        (_no_head, "people", "one_head"),
        (_outsider_applies, "people[1].programs", "members_only"),
        (_citizenship_of_non_applicant, "people[1].details.citizenship", "not_applicable"),
        (_applicant_never_asked, "people[1].details.taxpayer_number.status", "not_applicable"),
        (_membership_of_outsider, "people[1].member_fact_id", "not_applicable"),
        (_membership_of_new_person, "people[1].person_id", "required"),
        (_membership_in_new_household, "household.household_id", "required"),
        (_person_twice, "people[1].person_id", "unique"),
        (_membership_twice, "people[1].member_fact_id", "unique"),
        (_same_number_twice, "people[1].details.taxpayer_number.number", "unique"),
        (_same_person_twice, "people[1].details", "unique"),
        (_representative_of_the_past, "representative.until", "past"),
        (_tie_out_of_range, "people[0].member.ties[0].to.index", "position"),
        (_tie_to_self, "people[1].member.ties[1].to.index", "self"),
        (_tie_to_own_id, "people[1].member.ties[0].to.person_id", "self"),
        (_tie_to_nobody, "people[1].member.ties[0].to.target", "required"),
        (_earner_out_of_range, "incomes[0].earner", "position"),
        (_income_on_record_of_new_person, "people[0].person_id", "required"),
        (_income_twice, "incomes[1].fact_id", "unique"),
        (_hourly_without_hours, "incomes[0].details.weekly_hours_hundredths", "required"),
        (_text_without_phone, "contacts[0].phone", "required"),
        (_phone_of_email, "contacts[0].phone", "not_applicable"),
        (_email_without_address, "contacts[1].email", "required"),
        (_consent_twice, "consents[1].text", "unique"),
        (_confidential_address_not_said, "household.details.address_confidential", "matches_confidentiality"),
        (_confidential_address_not_asked, "household.details.address_confidential", "matches_confidentiality"),
        (_no_residence, "household.details.residence", "required"),
        (_born_tomorrow, "people[1].details.birth_date.value", "in_the_future"),
    ],
)
def test_rule_names_the_field_that_breaks_it(change: Callable[[FinalizeRequest], None], field: str, rule: str) -> None:
    """DRF-12: each rule is told with the path of its field, so that the applicant can correct it."""
    request = filing(2)
    change(request)

    assert broken(request) == {(f"request.{field}", rule)}


def test_other_kinds_of_filing_may_leave_the_head_unsaid() -> None:
    """FIN-27: a supplement speaks of some members of a household on record, and nobody need apply anew."""
    request = FinalizeRequest()
    request.CopyFrom(filing(2))
    request.kind = FilingKind.FILING_KIND_SUPPLEMENT
    request.filed_application_id = ID
    del request.people[0]
    request.people[0].member.ClearField("ties")
    request.people[0].ClearField("programs")
    request.people[0].details.ClearField("citizenship")

    assert broken(request) == set()


@given(st.text(st.characters(categories=("Lu", "Ll", "Lo")), min_size=1, max_size=20))
def test_no_violation_tells_what_was_sent(name: str) -> None:
    """DRF-12: violations hold paths and rules alone, whatever a person is called."""
    request = filing(2)
    request.people[1].CopyFrom(member(1, programs=[SNAP]))
    request.people[1].details.name.given = name
    request.people[1].details.name.single_name = True
    request.submitted_by = 99

    told = filing_violations(request, "request", on=TODAY)

    assert {violation.field for violation in told} == {"request.submitted_by", "request.people[1].details.name.family"}
    assert {violation.rule for violation in told} == {"position", "not_applicable"}
