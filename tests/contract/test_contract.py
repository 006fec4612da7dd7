"""What must hold of the whole contract, whatever it grows into (MSH-01, MSH-03, MSH-05, MSH-08, MSH-12)."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf.descriptor import FieldDescriptor

from canopy.errors.v1.reason_pb2 import Reason
from canopy.options.v1.field_pb2 import Format
from services.chassis.resources import shipped
from services.kernel.policy import access_of, failure_of, idempotency_of, rest_of, rules_of
from tests.contract import descriptors

PROTOS = shipped("protos")
BUF = Path(sys.executable).with_name("buf")
METHODS = {method.full_name: method for method in descriptors.methods()}
SEED_FINALIZE = ("Register", "Apply", "Release", "Cancel", "Get")


@pytest.mark.parametrize("name", METHODS)
def test_every_method_says_who_may_call_it(name: str) -> None:
    """MSH-03: services, roles or public; nothing is open by omission."""
    access_of(METHODS[name])


@pytest.mark.parametrize("name", METHODS)
def test_every_method_lists_its_refusals(name: str) -> None:
    """MSH-01: the comment has an `Errors:` line of known reasons; whatever takes fields can refuse one."""
    comment = descriptors.comments()[name]

    _, found, listed = comment.partition("Errors:")
    assert found, f"{name} has no Errors: line"
    reasons = re.findall(r"REASON_[A-Z_]+", listed)
    assert reasons
    assert set(reasons) <= set(Reason.keys())
    assert "REASON_INVALID_FIELD" in reasons or not METHODS[name].input_type.fields


@pytest.mark.parametrize("name", METHODS)
def test_no_method_for_people_gives_personal_fields(name: str) -> None:
    """AUD-05: until reads are recorded, what is personal goes to services alone."""
    method = METHODS[name]
    if access_of(method).roles:
        assert [f.full_name for f in descriptors.fields_below(method.output_type) if descriptors.is_personal(f)] == []


@pytest.mark.parametrize("name", METHODS)
def test_methods_that_only_read_say_so(name: str) -> None:
    """MSH-08: retries obey the contract, so a Get, List or Check must be repeatable, and every GET a read."""
    method = METHODS[name]

    if re.match(r"(BatchGet|Get|List|Check|Verify)", method.name):
        assert idempotency_of(method).name == "NO_SIDE_EFFECTS"


@pytest.mark.parametrize("name", [n for n in METHODS if n.startswith("canopy.persons.v1.FinalizeService.")])
def test_the_persons_side_of_finalize_admits_applications_alone(name: str) -> None:
    """MSH-05: register, apply, release, cancel and get are for canopy-applications and nobody else."""
    access = access_of(METHODS[name])

    assert access.services == {"canopy-applications"}
    assert not access.roles
    assert METHODS[name].name.startswith(SEED_FINALIZE)


@pytest.mark.parametrize("name", [n for n in METHODS if "StewardService" in n])
def test_stewardship_is_for_stewards(name: str) -> None:
    """MSH-05: quarantine, orphans and blocked releases are decided by data stewards."""
    assert access_of(METHODS[name]).roles == {"data_steward"}


def test_only_the_portal_is_public() -> None:
    """MSH-03: no other service has a method without a token."""
    public = {name for name, method in METHODS.items() if access_of(method).public}

    assert public
    assert all(name.startswith("canopy.portal.v1.") for name in public)


def test_drafts_and_submits_admit_the_portal_alone() -> None:
    """DRF-02: the portal is the only service that may touch a draft."""
    for name, method in METHODS.items():
        if name.startswith("canopy.applications.v1.DraftsService."):
            assert access_of(method).services == {"canopy-portal"}, name


@pytest.mark.parametrize("reason", [value for value in Reason.values() if value])
def test_every_reason_has_a_code(reason: Reason) -> None:
    """MSH-08: one catalogue maps reason to code; nothing answers OK or UNKNOWN."""
    assert failure_of(reason).code not in (0, 2)


def test_retries_are_advised_exactly_where_they_help() -> None:
    """MSH-08: UNAVAILABLE and RESOURCE_EXHAUSTED come with a delay, nothing else does."""
    for value in filter(None, Reason.values()):
        failure = failure_of(value)
        assert (failure.retry_after > 0) == (failure.code in (8, 14)), Reason.Name(value)


def test_events_carry_ids_and_kinds_only() -> None:
    """MSH-12: nothing personal, no free text: each string of an event is an id, a date or a list of them."""
    events = [m for m in descriptors.messages() if m.file.name.endswith("/events.proto")]

    assert events
    for message in events:
        for field in descriptors.fields_below(message):
            assert not descriptors.is_personal(field), field.full_name
            if field.type == FieldDescriptor.TYPE_STRING:
                assert field.name.endswith(("_id", "_date", "valid_from")), field.full_name


def test_names_say_what_is_in_them() -> None:
    """MSH-01: instants end in _at, civil days in _date, _from, _until or as_of and are strings, money in _cents."""
    for message in descriptors.messages():
        if message.file.name.startswith(("canopy/options/", "canopy/events/")):
            continue
        for field in message.fields:
            is_instant = field.message_type is not None and field.message_type.name == "Timestamp"
            if is_instant:
                assert field.name.endswith(("_at", "_before")), field.full_name
            if field.name.endswith("_cents"):
                assert field.type == FieldDescriptor.TYPE_INT64, field.full_name
            assert field.type not in (FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT), field.full_name


def test_days_and_ids_of_requests_have_their_format() -> None:
    """MSH-01: what a caller sends as a day or an id is checked as one."""
    for method in METHODS.values():
        for field in descriptors.fields_below(method.input_type):
            if not field.full_name.startswith("canopy.") or field.type != FieldDescriptor.TYPE_STRING:
                continue
            spelled = rules_of(field).format
            if field.name.endswith(("_id", "_ids")):
                assert spelled == Format.FORMAT_UUID, field.full_name
            if field.name in ("as_of", "valid_from", "valid_until", "from", "until") or field.name.endswith("_date"):
                assert spelled == Format.FORMAT_DATE, field.full_name


def test_lists_of_requests_are_bounded() -> None:
    """MSH-01: every list that a caller may send says how long it may be."""
    for method in METHODS.values():
        for field in descriptors.fields_below(method.input_type):
            if field.full_name.startswith("canopy.") and field.is_repeated:
                assert rules_of(field).max_items, field.full_name


def test_rest_statuses_are_those_that_the_edge_can_give() -> None:
    """MSH-08: 200, 201 and 202; a raw body names a message that exists."""
    known = {message.full_name for message in descriptors.messages()}

    for method in METHODS.values():
        rest = rest_of(method)
        assert rest.success_status in (200, 201, 202)
        assert not rest.body_message or rest.body_message in known


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the contract that may be broken."""
    shutil.copytree(PROTOS, tmp_path / "protos")
    shutil.copy(PROTOS.parent / "buf.yaml", tmp_path)
    return tmp_path


def breaking(folder: Path) -> subprocess.CompletedProcess[str]:
    """Compare a copy of the contract with the baseline, as `make lint` does."""
    subprocess.run([BUF, "build", "protos", "-o", "contract.binpb"], cwd=folder, check=True)
    return subprocess.run(
        [BUF, "breaking", "contract.binpb", "--against", "protos/baseline.binpb"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_contract_keeps_what_the_baseline_promised(copied: Path) -> None:
    """MSH-01: nothing that the last release promised is gone or changed."""
    result = breaking(copied)

    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("persons/v1/persons_service.proto", "string as_of = 2 ", "bytes as_of = 2 "),
        ("persons/v1/persons_service.proto", "rpc BatchGetPersons(", "rpc FetchPersons("),
        ("applications/v1/finalize.proto", "submitted_by = 6 ", "submitted_by = 60 "),
        ("errors/v1/reason.proto", "REASON_DRAFT_NOT_FOUND = 200", "REASON_NO_DRAFT = 200"),
    ],
    ids=["type", "method", "number", "reason"],
)
def test_a_broken_promise_is_noticed(copied: Path, file: str, before: str, after: str) -> None:
    """MSH-01: the check against the baseline can fail; otherwise its success would say nothing."""
    path = copied / "protos/canopy" / file
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))

    assert breaking(copied).returncode == 100
