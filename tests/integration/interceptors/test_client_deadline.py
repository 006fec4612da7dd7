"""Client stack, time: one deadline over token, sending, attempts, body and decoding."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from services.kernel import deadline
from services.kernel.deadline import Deadline
from services.kernel.errors import ClientError, ClientFailure
from tests.integration.interceptors.conftest import (
    Script,
    Tokens,
    Wire,
    collected,
    failed,
)
from tests.probe import pb


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
