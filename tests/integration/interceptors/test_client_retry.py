"""Client stack, sending again: which calls, how often, under which key, and when not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import grpc
import pytest

from canopy.errors.v1.reason_pb2 import Reason
from interceptors.client.policy import RetryPolicy
from services.kernel.errors import ClientError, ClientFailure, Refusal
from services.kernel.tally import tally
from tests.integration.interceptors.conftest import (
    Script,
    Tokens,
    Wire,
    busy,
    collected,
    failed,
)
from tests.probe import pb


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
