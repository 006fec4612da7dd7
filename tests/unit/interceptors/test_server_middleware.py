"""Each server middleware by itself, around a handler that is a plain block; and their order."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google.rpc import error_details_pb2, status_pb2

from canopy.errors.v1.reason_pb2 import Reason
from interceptors.server.access import access, admits
from interceptors.server.authentication import authentication
from interceptors.server.chain import Aborted, Call, Middleware
from interceptors.server.deadline import deadline
from interceptors.server.stack import middleware
from interceptors.server.status import rendered, status
from interceptors.server.telemetry import telemetry
from interceptors.server.validation import validation
from services.kernel import caller
from services.kernel.caller import ANONYMOUS, Caller
from services.kernel.errors import Refusal, Violation
from services.kernel.policy import Access
from tests.probe import pb

METHOD = "/canopy.probe.v1.ProbeService/Write"
PORTAL = Caller(subject="portal", service="canopy-portal", roles=frozenset({"service"}))


class Verifier:
    """Takes one token, at once or never."""

    def __init__(self, *, answers: bool = True) -> None:
        self.answers = answers
        self.asked: list[str] = []

    async def verify(self, token: str) -> Caller:
        self.asked.append(token)
        if not self.answers:
            await asyncio.Event().wait()
        if token != "good":
            raise Refusal(Reason.REASON_UNAUTHENTICATED)
        return PORTAL


def a_call(*, time_remaining: float | None = None, streams_answer: bool = False, **metadata: str) -> Call:
    return Call(method=METHOD, metadata=metadata, time_remaining=time_remaining, streams_answer=streams_answer)


async def refusal_of(tested: Middleware, call: Call) -> Reason:
    """Run a middleware around nothing and return why it refused."""
    with pytest.raises(Refusal) as caught:
        async with tested(call):
            pytest.fail("the handler was reached")
    return caught.value.reason


def test_order_of_the_stack() -> None:
    """MSH-08: telemetry, status, admission, deadline, authentication, access, validation; each for its reason."""
    stack = middleware(Verifier(), {}, 30.0, 256)

    assert [each.__qualname__.partition(".")[0] for each in stack] == [
        "telemetry",
        "status",
        "admission",
        "deadline",
        "authentication",
        "access",
        "validation",
    ]


async def test_call_has_a_trace_id_even_without_an_sdk() -> None:
    """MSH-08: 32 hexadecimal digits, fresh for each call."""
    first, second = a_call(), a_call()
    for call in (first, second):
        async with telemetry()(call):
            pass

    assert len(first.trace_id) == 32
    assert int(first.trace_id, 16)
    assert first.trace_id != second.trace_id


async def test_incoming_trace_is_continued() -> None:
    """MSH-08: the trace id of an error is that of the caller's trace."""
    call = a_call(traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    async with telemetry()(call):
        pass

    assert call.trace_id == "0af7651916cd43dd8448eb211c80319c"


async def test_cancellation_is_not_turned_into_a_status() -> None:
    """FIN-23: a call that is cancelled has nobody to tell; telemetry notes it."""
    call = a_call()
    with pytest.raises(asyncio.CancelledError):
        async with telemetry()(call), status()(call):
            raise asyncio.CancelledError

    assert call.code == 1


def group(*errors: Exception) -> ExceptionGroup[Exception]:
    return ExceptionGroup("tasks", errors)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Refusal(Reason.REASON_LEASE_LOST), Reason.REASON_LEASE_LOST),
        (KeyError("value"), Reason.REASON_INTERNAL),
        (group(Refusal(Reason.REASON_LEASE_LOST)), Reason.REASON_LEASE_LOST),
        (group(Refusal(Reason.REASON_LEASE_LOST), KeyError("value")), Reason.REASON_INTERNAL),
        (group(group(Refusal(Reason.REASON_STEP_UNKNOWN))), Reason.REASON_STEP_UNKNOWN),
    ],
)
async def test_whatever_is_raised_becomes_one_status(error: Exception, reason: Reason) -> None:
    """MSH-08: refusals by the catalogue, also out of a task group; a fault beats a refusal."""
    call = a_call()
    with pytest.raises(Aborted) as caught:
        async with status()(call):
            raise error

    assert call.reason == reason
    assert call.code == caught.value.code
    assert "value" not in str(caught.value)


def test_status_of_a_refusal_in_full() -> None:
    """MSH-08: code and words of the catalogue, ErrorInfo with the trace id, all violations, no needless retry."""
    violations = [Violation(field="a[0].b", rule="required"), Violation(field="c", rule="max_size")]
    aborted = rendered(Refusal(Reason.REASON_INVALID_FIELD, violations=violations, field="a[0].b"), "0af7")

    [(key, packed)] = aborted.trailing
    assert isinstance(packed, bytes)
    rich = status_pb2.Status.FromString(packed)
    info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    assert [rich.details[0].Unpack(info), rich.details[1].Unpack(bad), len(rich.details)] == [True, True, 2]
    assert (key, rich.code, rich.message, aborted.code) == ("grpc-status-details-bin", 3, "invalid field", 3)
    assert (info.domain, info.reason) == ("canopy", "REASON_INVALID_FIELD")
    assert dict(info.metadata) == {"field": "a[0].b", "trace_id": "0af7"}
    assert [(v.field, v.description) for v in bad.field_violations] == [("a[0].b", "required"), ("c", "max_size")]


@pytest.mark.parametrize(("said", "header"), [(None, "2"), (0.2, "1"), (61.0, "61"), (0.0, None)])
def test_retry_advice_is_the_moments_or_the_catalogues(said: float | None, header: str | None) -> None:
    """MSH-08: whole seconds, rounded up, in the header; none where the moment says that none helps."""
    aborted = rendered(Refusal(Reason.REASON_OPERATION_BUSY, retry_after=said), "")

    trailing: dict[str, Any] = dict(aborted.trailing)
    assert trailing.get("retry-after") == header
    assert len(status_pb2.Status.FromString(trailing["grpc-status-details-bin"]).details) == (2 if header else 1)


@pytest.mark.parametrize(("told", "most"), [(None, 30.0), (10.0, 9.88), (0.5, 0.475)])
async def test_deadline_leaves_time_to_report(told: float | None, most: float) -> None:
    """MSH-07: ours where the client names none; else the client's, less 1 % and 20 ms."""
    call = a_call(time_remaining=told)
    async with deadline(30.0)(call):
        assert call.deadline is not None
        assert most - 0.2 < call.deadline.remaining() <= most


@pytest.mark.parametrize("told", [0.0, 0.02, -1.0])
async def test_no_time_is_refused(told: float) -> None:
    """MSH-07: less than the reporting time is no time."""
    assert await refusal_of(deadline(30.0), a_call(time_remaining=told)) == Reason.REASON_DEADLINE_EXCEEDED


async def test_handler_that_streams_is_not_cut_inside_its_yield() -> None:
    """MSH-07: of a stream the adapter limits each step; the middleware sets the deadline only."""
    call = a_call(time_remaining=0.03, streams_answer=True)
    with pytest.raises(TimeoutError):
        async with deadline(30.0)(call), asyncio.timeout(0.1):
            await asyncio.Event().wait()


async def test_token_names_the_caller_for_the_block() -> None:
    """MSH-06: the bearer scheme in any case; afterwards nobody is the caller."""
    async with authentication(Verifier(), {})(a_call(authorization="bearer good")):
        assert caller.current() == PORTAL
    assert caller.current() == ANONYMOUS


@pytest.mark.parametrize("header", ["", "good", "Bearer", "Bearer  ", "Basic good"])
async def test_header_that_is_no_bearer_token_never_reaches_the_verifier(header: str) -> None:
    """MSH-06: refused like any bad token."""
    verifier = Verifier()
    call = a_call(authorization=header)

    assert await refusal_of(authentication(verifier, {}), call) == Reason.REASON_UNAUTHENTICATED
    assert not verifier.asked


async def test_verifier_that_hangs_is_bounded_in_streams_too() -> None:
    """MSH-07: fetching keys counts against the call's deadline."""
    call = a_call(time_remaining=0.05, streams_answer=True, authorization="Bearer good")
    async with deadline(30.0)(call):
        reason = await refusal_of(authentication(Verifier(answers=False), {}), call)

    assert reason == Reason.REASON_DEADLINE_EXCEEDED


async def test_public_method_has_no_caller() -> None:
    """MSH-03: a token on a public method is not looked at."""
    verifier = Verifier()
    async with authentication(verifier, {METHOD: Access(public=True)})(a_call(authorization="Bearer good")):
        assert caller.current() == ANONYMOUS
    assert not verifier.asked


SERVICE, ROLE = frozenset({"service"}), frozenset({"data_steward"})


@pytest.mark.parametrize(
    ("who", "admitted"),
    [
        (Caller(subject="", service="canopy-portal", roles=SERVICE), True),
        (Caller(subject="", azp="canopy-portal", roles=SERVICE), True),
        (Caller(subject="", service="canopy-other", azp="canopy-portal", roles=SERVICE), False),
        (Caller(subject="", azp="canopy-portal"), False),
        (Caller(subject="", service="canopy-portal"), False),
        (Caller(subject="", roles=SERVICE), False),
        (Caller(subject="", roles=ROLE), True),
        (Caller(subject="", roles=frozenset({"caseworker"})), False),
        (ANONYMOUS, False),
    ],
)
def test_who_is_admitted(who: Caller, admitted: bool) -> None:
    """MSH-04: the service role first, the id second; a role of people by itself."""
    policy = Access(services=frozenset({"canopy-portal"}), roles=frozenset({"data_steward"}))

    assert admits(policy, who) is admitted
    assert admits(Access(public=True), who)
    assert not admits(Access(), who)


async def test_method_without_policy_is_denied() -> None:
    """MSH-03: deny by default."""
    with caller.use(PORTAL):
        assert await refusal_of(access({}), a_call()) == Reason.REASON_CALLER_NOT_ALLOWED


async def test_validation_checks_every_message_of_the_call() -> None:
    """MSH-08: the check is put on the call, for one message or a stream of them."""
    call = a_call()
    async with validation()(call):
        call.check(pb.Ask(word="fine"))
        with pytest.raises(Refusal):
            call.check(pb.Ask(word="x" * 21))
