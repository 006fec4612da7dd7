"""A submit's body is read without forgiving anything, and a refusal names a path, never a value (FIN-09, MSH-11)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st

from canopy.errors.v1.reason_pb2 import Reason
from canopy.portal.v1.drafts_service_pb2 import SubmitDraftRequest
from services.kernel.errors import Refusal
from services.portal.domain import strict_json

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.json"))
CANARY = "Quetzalcoatl"


def body(**changes: Any) -> bytes:
    """A submit whose request is `changes` over a small household."""
    request = {
        "kind": "FILING_KIND_INITIAL",
        "people": [{"details": {"name": {"given": "Ana", "singleName": True}}}],
        "submittedBy": 0,
    }
    return json.dumps({"expectedRevision": "1", "request": {**request, **changes}}).encode()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_a_filing_is_read_as_protobuf_reads_it(example: Path) -> None:
    """FIN-09: what is strict refuses more, and reads nothing differently."""
    text = f'{{"expectedRevision": 3, "request": {example.read_text()}}}'

    assert strict_json.parse(text.encode(), SubmitDraftRequest) == json_format.Parse(text, SubmitDraftRequest())


def test_proto_names_are_read_as_well() -> None:
    """FIN-09: both spellings of a field that protobuf's JSON knows are the same field."""
    camel = strict_json.parse(b'{"expectedRevision": 3}', SubmitDraftRequest)

    assert strict_json.parse(b'{"expected_revision": 3}', SubmitDraftRequest) == camel


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        (b"", ""),
        (b"[]", ""),
        (b"null", ""),
        (b'"x"', ""),
        (b"\xff\xfe{}", ""),
        (b"\xef\xbb\xbf{}", ""),
        (b'{"request": {"people": ' + b"[" * 10_000, ""),
        (b'{"a": ' * 100_000, ""),
        (b'{"expectedRevision": ' + b"9" * 5_000 + b"}", ""),
        (b'{"request": 1, "request": 2}', ""),
        (b'{"expectedRevision": 1, "expected_revision": 1}', "expected_revision"),
        (b'{"expectedRevision": 1e400}', "expected_revision"),
        (b'{"expectedRevision": 1.0}', "expected_revision"),
        (b'{"expectedRevision": NaN}', "expected_revision"),
        (b'{"expectedRevision": -1}', "expected_revision"),
        (b'{"expectedRevision": 18446744073709551616}', "expected_revision"),
        (b'{"expectedRevision": true}', "expected_revision"),
        (b'{"expectedRevision": "0x10"}', "expected_revision"),
        (b'{"expectedRevision": " 1"}', "expected_revision"),
        (b'{"request": []}', "request"),
        (body(kind=1), "request.kind"),
        (body(kind=True), "request.kind"),
        (body(kind="FILING_KIND_NONE"), "request.kind"),
        (body(kind=99), "request.kind"),
        (body(people={}), "request.people"),
        (body(people=[None]), "request.people[0]"),
        (body(people=[[]]), "request.people[0]"),
        (body(people=[{"details": {"name": {"given": 7}}}]), "request.people[0].details.name.given"),
        (body(people=[{"details": {"name": {"singleName": "true"}}}]), "request.people[0].details.name.single_name"),
        (body(language="\ud800"), "request.language"),
        (
            body(household={"details": {"home": {"city": CANARY}, "noFixedAddress": {"city": CANARY}}}),
            "request.household.details.no_fixed_address",
        ),
    ],
)
def test_a_body_that_is_not_quite_json_of_the_message_is_refused(sent: bytes, field: str) -> None:
    """FIN-09: malformed bodies are refused with the path of the field, without their text."""
    with pytest.raises(Refusal) as caught:
        strict_json.parse(sent, SubmitDraftRequest)

    assert caught.value.reason == Reason.REASON_MALFORMED_BODY
    assert caught.value.metadata == {"field": field}


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        (b'{"EXPECTEDREVISION": 1}', ""),
        (json.dumps({CANARY: CANARY}).encode(), ""),
        (body(agreed=True), "request"),
        (body(people=[{"details": {"nick": CANARY}}]), "request.people[0].details"),
    ],
)
def test_an_unknown_field_is_refused_where_it_stands(sent: bytes, field: str) -> None:
    """FIN-09, MSH-11: the edge would drop it silently; here it is refused, and its name is not repeated."""
    with pytest.raises(Refusal) as caught:
        strict_json.parse(sent, SubmitDraftRequest)

    assert caught.value.reason == Reason.REASON_UNKNOWN_FIELD
    assert caught.value.metadata == {"field": field}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["request", "people", "kind", CANARY]), inner),
    max_leaves=30,
)


def refusal_of(sent: bytes) -> Refusal | None:
    """Read a body; any failure but a Refusal fails the test."""
    try:
        strict_json.parse(sent, SubmitDraftRequest)
    except Refusal as refusal:
        return refusal
    return None


@given(value=JSON)
def test_any_json_gives_a_message_or_a_refusal(value: Any) -> None:
    """FIN-09: there is no third outcome, and no refusal holds what was sent."""
    refusal = refusal_of(json.dumps(value).encode())

    assert refusal is None or CANARY not in f"{refusal} {refusal.metadata}"


@given(sent=st.binary())
def test_any_bytes_give_a_message_or_a_refusal(sent: bytes) -> None:
    """FIN-09: bytes that are no JSON at all are a refusal like any other."""
    refusal = refusal_of(sent)

    assert refusal is None or refusal.reason in (Reason.REASON_MALFORMED_BODY, Reason.REASON_UNKNOWN_FIELD)
