"""Reading the contract's options on methods and reasons."""

from __future__ import annotations

import pytest

from canopy.errors.v1.reason_pb2 import Reason
from services.kernel import policy
from services.kernel.errors import Refusal, sentence
from tests.probe import SERVICE, pb

REASONS = [number for number in Reason.values() if number]


def test_access_is_read_from_the_method() -> None:
    """MSH-03: services, roles or public, as the contract has it."""
    methods = {method.name: policy.access_of(method) for method in SERVICE.methods}

    assert methods["Write"] == policy.Access(services=frozenset({"canopy-portal"}))
    assert methods["Read"].roles == {"data_steward"}
    assert methods["Open"].public


@pytest.mark.parametrize("service", ["BareService", "ConfusedService"])
def test_missing_or_contradictory_access_is_a_fault(service: str) -> None:
    """MSH-03: unsaid and contradictory policies are found, with the name of the method."""
    [method] = pb.DESCRIPTOR.services_by_name[service].methods
    with pytest.raises(policy.MissingPolicyError, match=method.full_name):
        policy.access_of(method)


def test_idempotency_is_unknown_unless_said() -> None:
    """MSH-09: silence means that a call is not repeated."""
    levels = {method.name: policy.idempotency_of(method) for method in SERVICE.methods}

    assert [levels[name].repeatable for name in ("Write", "Read", "Put")] == [False, True, True]


def test_rest_has_defaults() -> None:
    """MSH-08: what the contract does not say about REST is 200 and 1 MiB."""
    assert policy.rest_of(SERVICE.methods[0]) == policy.Rest(
        success_status=200, body_message="", max_body_bytes=1 << 20
    )


def test_methods_are_named_as_on_the_wire() -> None:
    """MSH-03: "/package.Service/Method"."""
    assert "/canopy.probe.v1.ProbeService/Write" in policy.methods_of([SERVICE])


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_has_a_code_and_words(reason: Reason) -> None:
    """MSH-08: the catalogue is complete: each reason travels as a failure and has a sentence."""
    failure = policy.failure_of(reason)

    assert 1 <= failure.code <= 16
    assert failure.retry_after >= 0
    assert sentence(reason) == Reason.Name(reason).removeprefix("REASON_").lower().replace("_", " ")


@pytest.mark.parametrize("number", [0, 99_999])
def test_reason_outside_the_catalogue_is_a_fault(number: int) -> None:
    """MSH-08: the zero value and unknown numbers cannot be sent."""
    with pytest.raises(policy.MissingPolicyError):
        policy.failure_of(number)  # pyright: ignore[reportArgumentType]


def test_refusal_says_its_reason_and_nothing_else() -> None:
    """MSH-08: the text of a refusal comes from the catalogue."""
    refusal = Refusal(Reason.REASON_DRAFT_NOT_FOUND, entity="draft")

    assert str(refusal) == "REASON_DRAFT_NOT_FOUND"
    assert refusal.metadata == {"entity": "draft"}
