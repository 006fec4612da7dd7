"""An applicant names nobody on record and verifies nothing (FIN-27)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from canopy.applications.v1.finalize_pb2 import FinalizeRequest
from canopy.persons.v1.household_pb2 import PersonRef, Tie, TieKind
from canopy.persons.v1.income_pb2 import Verification
from services.applications.domain.self_service import self_service_violations
from tests.filings import filing

SOMEBODY = "7b1f3a52-0d8e-4c54-9d0b-0c8f4c7c2b11"


def in_household(request: FinalizeRequest) -> None:
    request.household.household_id = SOMEBODY


def as_person(request: FinalizeRequest) -> None:
    request.people[1].person_id = SOMEBODY


def as_member(request: FinalizeRequest) -> None:
    request.people[0].member_fact_id = SOMEBODY


def as_income(request: FinalizeRequest) -> None:
    request.incomes[0].fact_id = SOMEBODY


def tied(request: FinalizeRequest) -> None:
    to = PersonRef(person_id=SOMEBODY)
    del request.people[0].member.ties[:]
    request.people[0].member.ties.append(Tie(to=to, kind=TieKind.TIE_KIND_SPOUSE))


def number_verified(request: FinalizeRequest) -> None:
    request.people[0].details.taxpayer_number.verified = True


def income_verified(request: FinalizeRequest) -> None:
    request.incomes[0].details.verification = Verification.VERIFICATION_DATA_MATCH


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (in_household, "request.household.household_id"),
        (as_person, "request.people[1].person_id"),
        (as_member, "request.people[0].member_fact_id"),
        (as_income, "request.incomes[0].fact_id"),
        (tied, "request.people[0].member.ties[0].to.person_id"),
        (number_verified, "request.people[0].details.taxpayer_number.verified"),
        (income_verified, "request.incomes[0].details.verification"),
    ],
)
def test_what_only_staff_may_say_is_named(change: Callable[[FinalizeRequest], None], field: str) -> None:
    """FIN-27: each reference to the record and each verification is refused by its own path."""
    request = filing(2)
    assert self_service_violations(request, "request") == []

    change(request)

    assert [(found.field, found.rule) for found in self_service_violations(request, "request")] == [
        (field, "staff_only")
    ]


def test_no_reference_of_the_contract_is_forgotten() -> None:
    """FIN-27: a new id, or flag of verification, in a filing is to be decided here."""
    found: set[str] = set()

    def walk(message: object, path: str) -> None:
        for field in message.fields:  # pyright: ignore[reportAttributeAccessIssue]
            if field.name.endswith("_id") or field.name.startswith(("verif",)):
                found.add(f"{path}{field.name}")
            if field.message_type is not None and field.message_type.full_name.startswith("canopy."):
                walk(field.message_type, f"{path}{field.name}.")

    walk(FinalizeRequest.DESCRIPTOR, "")

    assert found == {
        "filed_application_id",  # of a kind that is not INITIAL
        "people.person_id",
        "people.member_fact_id",
        "people.member.ties.to.person_id",
        "people.details.taxpayer_number.verified",
        "household.household_id",
        "incomes.fact_id",
        "incomes.details.verification",
    }
