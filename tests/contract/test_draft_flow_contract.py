"""What the contract and the tables say about drafts, read from descriptors and the catalogue."""

from __future__ import annotations

import re
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor, ServiceDescriptor

from canopy.applications.v1 import applications_service_pb2, drafts_service_pb2, finalize_service_pb2
from canopy.applications.v1.application_pb2 import (
    ApplicationStatus,
    Confidentiality,
    DeterminationState,
    FilingKind,
    Program,
    SubmissionChannel,
)
from canopy.portal.v1 import drafts_service_pb2 as portal_drafts_pb2
from services.kernel import policy
from tests.contract.descriptors import fields_below, is_personal
from tests.servers import CreateDatabase

DRAFTS = drafts_service_pb2.DESCRIPTOR.services_by_name["DraftsService"]
FINALIZE = finalize_service_pb2.DESCRIPTOR.services_by_name["FinalizeService"]
PORTAL_DRAFTS = portal_drafts_pb2.DESCRIPTOR.services_by_name["DraftsService"]


def personal_requests(service: ServiceDescriptor) -> set[str]:
    """Return the methods whose request has a `personal` field at any depth."""
    return {
        method.name for method in service.methods if any(is_personal(each) for each in fields_below(method.input_type))
    }


def test_only_finalize_is_sent_personal_fields() -> None:
    """DRF-10: while a draft is a draft, what people say reaches the server as ciphertext alone."""
    assert personal_requests(DRAFTS) == set()
    assert personal_requests(FINALIZE) == {"FinalizeApplication"}
    assert personal_requests(PORTAL_DRAFTS) == set()


def test_no_draft_method_is_sent_free_text() -> None:
    """DRF-10: beside credentials and ids the draft methods take no text that could hold an answer of the form."""
    texts = {
        (method.name, each.name): policy.rules_of(each)
        for method in DRAFTS.methods
        for each in fields_below(method.input_type)
        if each.type == FieldDescriptor.TYPE_STRING
    }

    free = {where for where, rules in texts.items() if not rules.format and not rules.secret}
    assert free == set()
    assert {where for where, rules in texts.items() if rules.secret} == {
        ("VerifyCredentials", "code"),
        ("VerifyCredentials", "passcode"),
    }


def test_what_opens_a_draft_is_marked_as_secret() -> None:
    """DRF-08: codes, passcodes and key shares are redacted wherever a message is shown."""
    secret = {
        (method.name, each.name)
        for method in DRAFTS.methods
        for each in fields_below(method.output_type)
        if policy.rules_of(each).secret
    }

    assert secret == {
        ("CreateDraft", "code"),
        ("CreateDraft", "passcode"),
        ("CreateDraft", "server_share"),
        ("GetDraft", "server_share"),
        ("VerifyCredentials", "code"),
    }


def test_only_the_portal_reaches_drafts() -> None:
    """MSH-03: the contract names one service for each method, and no role of a person."""
    for method in (*DRAFTS.methods, *FINALIZE.methods):
        access = policy.access_of(method)
        assert list(access.services) == ["canopy-portal"]
        assert list(access.roles) == (["caseworker"] if method.name == "GetFinalizeOperation" else [])
        assert not access.public


def test_no_method_but_create_answers_a_passcode() -> None:
    """DRF-01: the passcode is in one answer and nowhere else."""
    services = (DRAFTS, FINALIZE, applications_service_pb2.DESCRIPTOR.services_by_name["ApplicationsService"])

    answering = {
        method.name
        for service in services
        for method in service.methods
        for each in fields_below(method.output_type)
        if "passcode" in each.name
    }

    assert answering == {"CreateDraft"}


def words(enum: Any, *, without: str = "") -> set[str]:
    """Spell the values of an enum as columns do, but for zero."""
    prefix = enum.Name(0).removesuffix("UNSPECIFIED")
    return {name.removeprefix(prefix).lower() for name, number in enum.items() if number} - {without}


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        ("applications_kind", words(FilingKind, without="supplement")),
        ("applications_status", words(ApplicationStatus)),
        ("applications_programs", words(Program)),
        ("applications_channel", words(SubmissionChannel)),
        ("applications_confidentiality", words(Confidentiality)),
        ("application_determinations_program", words(Program)),
        ("application_determinations_state", words(DeterminationState)),
        ("finalize_operations_kind", words(FilingKind)),
    ],
)
async def test_the_checks_hold_the_words_of_the_contract(
    create_database: CreateDatabase, constraint: str, expected: set[str]
) -> None:
    """DRF-06: columns take exactly the contract's values; no status, of either, is a draft's."""
    fresh = await create_database("outbox", "applications")
    async with fresh.as_owner() as owner:
        check = await owner.fetchval(
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = $1", constraint
        )

    assert check is not None
    assert set(re.findall("'([a-z_]+)'", check)) == expected
    assert not any("draft" in word for word in expected)
