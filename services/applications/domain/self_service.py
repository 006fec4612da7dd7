"""What an applicant may not say of themself, in a filing that comes through the portal (FIN-27, SES-01).

A session proves who holds a draft, and nothing about records: whoever saw another household's id could name it, change
its record or learn that it exists. What an agency has verified is not for applicants to state either. Staff, whose
submits come through other channels, may do both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from canopy.applications.v1.application_pb2 import SubmissionChannel
from canopy.applications.v1.finalize_pb2 import FiledPerson, FinalizeRequest
from services.kernel.errors import Violation

CHANNELS: Final = frozenset({SubmissionChannel.SUBMISSION_CHANNEL_PORTAL, SubmissionChannel.SUBMISSION_CHANNEL_KIOSK})
_RULE: Final = "staff_only"


def self_service_violations(request: FinalizeRequest, path: str) -> list[Violation]:
    """List every reference to the record and every verification. path: where the request stands in its message."""
    return [Violation(field=f"{path}.{field}", rule=_RULE) for field in _fields(request)]


def _fields(request: FinalizeRequest) -> Iterator[str]:
    if request.household.household_id:
        yield "household.household_id"
    for index, person in enumerate(request.people):
        for field in _of_person(person):
            yield f"people[{index}].{field}"
    for index, income in enumerate(request.incomes):
        if income.fact_id:
            yield f"incomes[{index}].fact_id"
        if income.details.verification:
            yield f"incomes[{index}].details.verification"


def _of_person(person: FiledPerson) -> Iterator[str]:
    if person.person_id:
        yield "person_id"
    if person.member_fact_id:
        yield "member_fact_id"
    if person.details.taxpayer_number.verified:
        yield "details.taxpayer_number.verified"
    for index, tie in enumerate(person.member.ties):
        if tie.to.WhichOneof("target") == "person_id":
            yield f"member.ties[{index}].to.person_id"
