"""The client stack over the real wire, against our own server stack and against statuses of any other server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import grpc
import pytest

from canopy.errors.v1.reason_pb2 import Reason
from interceptors.client.policy import RetryPolicy
from interceptors.client.stack import client_stack
from interceptors.client.transaction_guard import CalledInTransactionError
from services.kernel import deadline
from services.kernel.deadline import Deadline
from services.kernel.errors import ClientError, ClientFailure, Refusal
from services.kernel.tally import tally
from services.kernel.transaction import open_transaction
from tests.integration.interceptors.conftest import Probe, Tokens, Wire, served
from tests.probe import pb


class Script:
    """Fails by turns as told, then answers; remembers what came in."""

    def __init__(self, *failures: Any) -> None:
        self.failures = list(failures)
        self.metadata: list[dict[str, Any]] = []

    async def __call__(self, request: Any, context: Any) -> Any:
        self.metadata.append(dict(context.invocation_metadata()))
        match self.failures.pop(0) if self.failures else None:
            case None:
                return pb.Answer(word=request.word)
            case grpc.StatusCode() as code:
                return await context.abort(code)
            case failure:
                raise failure

    async def stream(self, request: Any, context: Any) -> AsyncIterator[Any]:
        yield await self(request, context)
        yield pb.Answer(word="second")


def busy(retry_after: float = 0.001) -> Refusal:
    return Refusal(Reason.REASON_OVERLOADED, retry_after=retry_after)


async def failed(call: Any, kind: ClientFailure) -> ClientError:
    """Await a call that must fail with `kind`."""
    with pytest.raises(ClientError) as caught:
        await call
    assert caught.value.kind is kind
    return caught.value


async def collected(stream: Any) -> list[str]:
    return [answer.word async for answer in stream]


async def test_call_carries_token_key_and_deadline(wire: Wire) -> None:
    """MSH-09: one token for the audience, an idempotency key, and the time that is left."""
    wire.probe.behave = script = Script()
    tokens = Tokens()
    async with wire.stacked(tokens) as stub:
        answer = await stub.Write(pb.Ask(word="a"))

    assert answer.word == "a"
    assert tokens.asked == ["canopy-probe"]
    assert script.metadata[0]["authorization"] == "Bearer portal"
    assert len(script.metadata[0]["idempotency-key"]) == 36


@pytest.mark.parametrize(("method", "sent"), [("Read", 3), ("Put", 3), ("Write", 1)])
async def test_only_methods_declared_repeatable_are_repeated(wire: Wire, method: str, sent: int) -> None:
    """MSH-09: UNAVAILABLE is retried by idempotency_level, under one key; each attempt counts as a call sent."""
    wire.probe.behave = script = Script(grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNAVAILABLE)
    async with wire.stacked() as stub:
        with tally() as counted:
            call = getattr(stub, method)(pb.Ask(word="a"))
            if sent == 1:
                error = await failed(call, ClientFailure.TRANSIENT_EXHAUSTED)
                assert error.may_have_happened
            else:
                assert (await call).word == "a"

    assert len(script.metadata) == counted.rpcs == sent
    assert len({metadata["idempotency-key"] for metadata in script.metadata}) == 1


async def test_two_calls_have_two_keys(wire: Wire) -> None:
    """MSH-09: a key belongs to one logical call."""
    wire.probe.behave = script = Script()
    async with wire.stacked() as stub:
        await stub.Put(pb.Ask())
        await stub.Put(pb.Ask())

    first, second = (metadata["idempotency-key"] for metadata in script.metadata)
    assert first != second


async def test_attempts_are_bounded(wire: Wire) -> None:
    """MSH-09: four attempts, then the caller hears."""
    wire.probe.behave = script = Script(*[grpc.StatusCode.UNAVAILABLE] * 9)
    async with wire.stacked() as stub:
        await failed(stub.Read(pb.Ask()), ClientFailure.TRANSIENT_EXHAUSTED)

    assert len(script.metadata) == 4


@pytest.mark.parametrize(
    "failure",
    [
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        Refusal(Reason.REASON_GENERATION_CANCELLED),
    ],
)
async def test_what_a_retry_cannot_help_is_not_repeated(wire: Wire, failure: Any) -> None:
    """MSH-09: never ABORTED; overload only where the other side says when to come back."""
    wire.probe.behave = script = Script(failure)
    async with wire.stacked() as stub:
        with pytest.raises(ClientError):
            await stub.Read(pb.Ask())

    assert len(script.metadata) == 1


async def test_overload_that_says_when_is_repeated(wire: Wire) -> None:
    """MSH-17: RESOURCE_EXHAUSTED with RetryInfo is tried again."""
    wire.probe.behave = script = Script(busy())
    async with wire.stacked() as stub:
        assert (await stub.Read(pb.Ask(word="a"))).word == "a"

    assert len(script.metadata) == 2


async def test_pause_that_outlasts_the_deadline_is_not_begun(wire: Wire) -> None:
    """MSH-07: the other side asks for more time than there is: the caller hears at once, with the advice."""
    wire.probe.behave = script = Script(busy(retry_after=3600))
    async with wire.stacked() as stub:
        error = await failed(stub.Read(pb.Ask()), ClientFailure.TRANSIENT_EXHAUSTED)

    assert len(script.metadata) == 1
    assert error.retry_after == 3600
    assert error.reason == Reason.REASON_OVERLOADED
    assert not error.may_have_happened


def test_pauses_have_jitter_under_a_doubling_limit() -> None:
    """MSH-09: full jitter; never before the moment that the other side names."""
    policy = RetryPolicy(base_seconds=0.1, most_seconds=0.3)
    for attempt, limit in ((1, 0.1), (2, 0.2), (3, 0.3), (9, 0.3)):
        pauses = [policy.pause(attempt, None) for _ in range(200)]
        assert 0 <= min(pauses) < limit / 4
        assert limit * 3 / 4 < max(pauses) <= limit
    assert policy.pause(1, 5.0) >= 5.0


@pytest.mark.parametrize(
    ("failure", "kind", "may_have_happened"),
    [
        (Refusal(Reason.REASON_DRAFT_NOT_FOUND), ClientFailure.NOT_FOUND, False),
        (Refusal(Reason.REASON_GENERATION_ABSENT), ClientFailure.CONFLICT, False),
        (Refusal(Reason.REASON_PERIOD_OVERLAP), ClientFailure.CONFLICT, False),
        (Refusal(Reason.REASON_STEP_UNKNOWN, field="steps[0]"), ClientFailure.UNPROCESSABLE, False),
        (Refusal(Reason.REASON_RELEASE_BLOCKED), ClientFailure.UNPROCESSABLE, False),
        (Refusal(Reason.REASON_CREDENTIALS_NOT_ACCEPTED), ClientFailure.AUTH, False),
        (Refusal(Reason.REASON_NOT_IMPLEMENTED), ClientFailure.CONTRACT, False),
        (Refusal(Reason.REASON_COMMIT_UNKNOWN), ClientFailure.TRANSIENT_EXHAUSTED, True),
        (Refusal(Reason.REASON_DEADLINE_EXCEEDED), ClientFailure.OVERALL_TIMEOUT, True),
        (Refusal(Reason.REASON_INTERNAL), ClientFailure.CONTRACT, True),
    ],
)
async def test_refusal_arrives_as_kind_and_reason(
    wire: Wire, failure: Refusal, kind: ClientFailure, may_have_happened: bool
) -> None:
    """RUN-09: every refusal of the catalogue has a kind to decide by, and its reason and metadata survive the wire."""
    wire.probe.behave = Script(failure)
    async with wire.stacked() as stub:
        error = await failed(stub.Write(pb.Ask()), kind)

    assert error.reason == failure.reason
    assert error.may_have_happened is may_have_happened
    assert failure.metadata.items() <= error.metadata.items()
    assert error.method == "/canopy.probe.v1.ProbeService/Write"


async def test_refusal_after_an_uncertain_attempt_stays_uncertain(wire: Wire) -> None:
    """FIN-22: the first attempt may have done it, whatever the second one says."""
    wire.probe.behave = Script(grpc.StatusCode.UNAVAILABLE, Refusal(Reason.REASON_VERSION_STALE))
    async with wire.stacked() as stub:
        error = await failed(stub.Put(pb.Ask()), ClientFailure.CONFLICT)

    assert error.may_have_happened


class LastToken(Tokens):
    """An issuer that stops answering after the first token."""

    async def token(self, audience: str) -> str:
        if self.asked:
            raise ClientError(ClientFailure.TRANSIENT_EXHAUSTED, method="token", code=14, may_have_happened=False)
        return await super().token(audience)


async def test_token_that_cannot_be_had_for_a_retry_leaves_the_first_attempt_uncertain(wire: Wire) -> None:
    """FIN-22: the second attempt was never sent, but the first one was."""
    wire.probe.behave = Script(grpc.StatusCode.UNAVAILABLE)
    async with wire.stacked(LastToken()) as stub:
        error = await failed(stub.Put(pb.Ask()), ClientFailure.TRANSIENT_EXHAUSTED)

    assert error.method == "token"
    assert error.may_have_happened


async def test_call_without_our_details_proves_nothing(wire: Wire) -> None:
    """FIN-22: a bare code may come from a proxy after the fact."""
    wire.probe.behave = Script(grpc.StatusCode.ABORTED)
    async with wire.stacked() as stub:
        error = await failed(stub.Write(pb.Ask()), ClientFailure.CONFLICT)

    assert error.may_have_happened
    assert error.reason == Reason.REASON_UNSPECIFIED


async def test_nobody_at_the_address_is_transient() -> None:
    """RUN-09: a dead server is TransientExhausted after its attempts."""
    async with served(Probe()) as wire:
        await wire.server.stop(None)
        async with wire.stacked() as stub:
            with tally() as counted:
                await failed(stub.Read(pb.Ask()), ClientFailure.TRANSIENT_EXHAUSTED)

    assert counted.rpcs == 4


@pytest.mark.parametrize("limit", ["overall", "inherited", "asked"])
async def test_stalled_answer_cannot_escape_the_deadline(wire: Wire, limit: str) -> None:
    """MSH-07: the least of the knob, the time of the call being served and the caller's own limit holds."""

    async def behave(_request: Any, _context: Any) -> Any:
        await asyncio.Event().wait()

    wire.probe.behave = behave
    async with wire.stacked(overall_seconds=0.1 if limit == "overall" else 60.0) as stub:
        with deadline.use(Deadline.after(0.1 if limit == "inherited" else 60.0)):
            call = stub.Write(pb.Ask(), timeout=0.1 if limit == "asked" else None)
            error = await failed(call, ClientFailure.OVERALL_TIMEOUT)

    assert error.may_have_happened


async def test_time_that_is_left_reaches_the_other_side(wire: Wire) -> None:
    """MSH-07: remaining time propagates to callees."""
    seen: list[float] = []

    async def behave(_request: Any, _context: Any) -> Any:
        current = deadline.current()
        assert current is not None
        seen.append(current.remaining())
        return pb.Answer()

    wire.probe.behave = behave
    async with wire.stacked() as stub:
        with deadline.use(Deadline.after(5.0)):
            await stub.Write(pb.Ask())

    assert 0 < seen[0] < 5.0


async def test_call_with_no_time_left_is_not_sent(wire: Wire) -> None:
    """MSH-07: nothing is sent, so nothing can have happened."""
    wire.probe.behave = script = Script()
    async with wire.stacked() as stub:
        with deadline.use(Deadline.after(0.0)):
            error = await failed(stub.Write(pb.Ask()), ClientFailure.OVERALL_TIMEOUT)

    assert not error.may_have_happened
    assert not script.metadata


class SlowTokens(Tokens):
    """An issuer that does not answer."""

    async def token(self, audience: str) -> str:
        await asyncio.Event().wait()
        return audience


class NoTokens(Tokens):
    """An issuer that says no."""

    async def token(self, audience: str) -> str:
        raise ClientError(ClientFailure.AUTH, method="token", code=16, may_have_happened=False)


@pytest.mark.parametrize(
    ("tokens", "kind"), [(SlowTokens(), ClientFailure.OVERALL_TIMEOUT), (NoTokens(), ClientFailure.AUTH)]
)
async def test_token_is_fetched_within_the_deadline(wire: Wire, tokens: Tokens, kind: ClientFailure) -> None:
    """MSH-07: token acquisition counts; without a token nothing is sent."""
    wire.probe.behave = script = Script()
    async with wire.stacked(tokens, overall_seconds=0.1) as stub:
        error = await failed(stub.Write(pb.Ask()), kind)

    assert not error.may_have_happened
    assert not script.metadata


async def test_call_inside_a_transaction_is_a_fault_of_the_program(wire: Wire) -> None:
    """FIN-07: neither a token is fetched nor anything sent while a database transaction is open."""
    wire.probe.behave = script = Script()
    wire.probe.stream = script.stream
    tokens = Tokens()
    token = open_transaction.set("record_person")
    try:
        async with wire.stacked(tokens) as stub:
            with pytest.raises(CalledInTransactionError, match="record_person"):
                await stub.Write(pb.Ask())
            with pytest.raises(CalledInTransactionError, match="record_person"):
                await collected(stub.List(pb.Ask()))
    finally:
        open_transaction.reset(token)

    assert not script.metadata
    assert not tokens.asked


async def test_answer_of_another_shape_is_a_decode_failure(wire: Wire) -> None:
    """RUN-09: what cannot be decoded is Decode, for unary and streaming answers."""

    def broken(_data: bytes) -> Any:
        raise ValueError("not a message")

    wire.probe.behave = script = Script()
    wire.probe.stream = script.stream
    async with grpc.aio.insecure_channel(wire.address, interceptors=client_stack("canopy-probe", Tokens())) as channel:
        path, encode = "/canopy.probe.v1.ProbeService/", pb.Ask.SerializeToString
        await failed(channel.unary_unary(f"{path}Write", encode, broken)(pb.Ask()), ClientFailure.DECODE)
        await failed(collected(channel.unary_stream(f"{path}List", encode, broken)(pb.Ask())), ClientFailure.DECODE)


async def test_answer_above_the_limit_is_a_decode_failure(wire: Wire) -> None:
    """MSH-07: the byte cap on a body is the channel's; breaking it is no overload."""

    async def behave(_request: Any, _context: Any) -> Any:
        return pb.Answer(word="x" * 2000)

    wire.probe.behave = behave
    stack, options = client_stack("canopy-probe", Tokens()), [("grpc.max_receive_message_length", 1000)]
    async with grpc.aio.insecure_channel(wire.address, options=options, interceptors=stack) as channel:
        path = "/canopy.probe.v1.ProbeService/Write"
        call = channel.unary_unary(path, pb.Ask.SerializeToString, pb.Answer.FromString)(pb.Ask())
        error = await failed(call, ClientFailure.DECODE)

    assert error.may_have_happened


@pytest.mark.parametrize(
    ("failures", "words"), [((), ["a", "second"]), ((grpc.StatusCode.UNAVAILABLE,), ["a", "second"])]
)
async def test_stream_is_repeated_until_its_first_message(
    wire: Wire, failures: Sequence[Any], words: list[str]
) -> None:
    """MSH-09: opening a stream is retried like a call."""
    script = Script(*failures)
    wire.probe.stream = script.stream
    async with wire.stacked() as stub:
        assert await collected(stub.List(pb.Ask(word="a"))) == words

    assert len(script.metadata) == 1 + len(failures)


async def test_stream_that_fails_later_is_not_repeated(wire: Wire) -> None:
    """RUN-09: after the first message a failure is the caller's, as a ClientError."""
    opened = 0

    async def stream(_request: Any, _context: Any) -> AsyncIterator[Any]:
        nonlocal opened
        opened += 1
        yield pb.Answer(word="first")
        raise busy()

    wire.probe.stream = stream
    async with wire.stacked() as stub:
        answers = aiter(stub.List(pb.Ask()))
        assert (await anext(answers)).word == "first"
        error = await failed(anext(answers), ClientFailure.TRANSIENT_EXHAUSTED)

    assert error.reason == Reason.REASON_OVERLOADED
    assert opened == 1


async def test_stream_that_stalls_ends_by_the_deadline(wire: Wire) -> None:
    """MSH-07: the one deadline also covers the body of a stream."""

    async def stream(_request: Any, _context: Any) -> AsyncIterator[Any]:
        yield pb.Answer(word="first")
        await asyncio.Event().wait()

    wire.probe.stream = stream
    async with wire.stacked(overall_seconds=0.2) as stub:
        await failed(collected(stub.List(pb.Ask())), ClientFailure.OVERALL_TIMEOUT)


async def test_caller_that_leaves_cancels_the_call(wire: Wire) -> None:
    """MSH-07: cancelling the awaiting task reaches the other side."""
    began, ended = asyncio.Event(), asyncio.Event()

    async def behave(_request: Any, _context: Any) -> Any:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def call(stub: Any) -> None:
        await stub.Read(pb.Ask())

    wire.probe.behave = behave
    async with wire.stacked() as stub:
        task = asyncio.create_task(call(stub))
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await ended.wait()
