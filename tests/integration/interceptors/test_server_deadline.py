"""Server stack, time: every call ends, whatever its client or its handler does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from canopy.errors.v1.reason_pb2 import Reason
from services.kernel import caller
from tests.integration.interceptors.conftest import (
    AS_PORTAL,
    PORTAL,
    Probe,
    Wire,
    collected,
    refused,
    served,
)
from tests.probe import SERVICE, pb


async def test_handler_out_of_time_is_cut_and_reported() -> None:
    """MSH-07: a call without a deadline gets ours; it ends with DEADLINE_EXCEEDED and the handler is cancelled."""
    cancelled = asyncio.Event()

    async def behave(_request: Any, _context: Any) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async with served(Probe(behave), default_deadline_seconds=0.05) as wire, wire.bare() as stub:
        error = await refused(stub.Write(pb.Ask(), metadata=AS_PORTAL), Reason.REASON_DEADLINE_EXCEEDED)

    assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert cancelled.is_set()


WRITE = f"/{SERVICE.full_name}/Write"
LIST = f"/{SERVICE.full_name}/List"


async def silence() -> AsyncIterator[bytes]:
    """Begin a request and never send it."""
    await asyncio.Event().wait()
    yield b""


async def nothing() -> AsyncIterator[bytes]:
    """End a request without sending it."""
    return
    yield b""


async def test_request_that_never_comes_keeps_nobody_out() -> None:
    """MSH-17: a stranger is sent away before its request has come; a known caller's is awaited until the deadline."""
    async with served(Probe(), default_deadline_seconds=0.05) as wire, wire.bare_channel() as channel:
        for method, metadata, reason in (
            (WRITE, (), Reason.REASON_UNAUTHENTICATED),
            (LIST, (), Reason.REASON_UNAUTHENTICATED),
            (WRITE, AS_PORTAL, Reason.REASON_DEADLINE_EXCEEDED),
            (LIST, AS_PORTAL, Reason.REASON_DEADLINE_EXCEEDED),
        ):
            async with asyncio.timeout(20):
                await refused(channel.stream_unary(method)(silence(), metadata=metadata), reason)


async def test_request_that_ends_before_it_begins_is_malformed(wire: Wire) -> None:
    """MSH-08: a unary call without its message gets an answer."""
    async with wire.bare_channel() as channel:
        for method in (WRITE, LIST):
            call = channel.stream_unary(method)(nothing(), metadata=AS_PORTAL, timeout=20)
            await refused(call, Reason.REASON_MALFORMED_BODY)


async def test_timeout_of_the_handlers_own_is_a_fault(wire: Wire) -> None:
    """MSH-07: only the call's deadline is reported as one."""

    async def behave(_request: Any, _context: Any) -> Any:
        raise TimeoutError

    wire.probe.behave = behave
    async with wire.bare() as stub:
        await refused(stub.Write(pb.Ask(), metadata=AS_PORTAL), Reason.REASON_INTERNAL)


async def test_call_that_arrives_too_late_is_refused_unseen(wire: Wire) -> None:
    """MSH-07: with less than the reporting time left the handler does not start."""
    started = False

    async def behave(_request: Any, _context: Any) -> Any:
        nonlocal started
        started = True
        return pb.Answer()

    wire.probe.behave = behave
    async with wire.bare() as stub:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.Write(pb.Ask(), metadata=AS_PORTAL, timeout=0.015)

    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert not started


async def test_stream_is_delivered_whole(wire: Wire) -> None:
    """MSH-07: a stream within its deadline arrives in order."""

    async def stream(_request: Any, _context: Any) -> AsyncIterator[Any]:
        for number in range(50):
            yield pb.Answer(word=str(number))

    wire.probe.stream = stream
    async with wire.bare() as stub:
        words = await collected(stub.List(pb.Ask(), metadata=AS_PORTAL))

    assert words == [str(number) for number in range(50)]


async def test_stream_out_of_time_ends_and_closes_its_handler() -> None:
    """MSH-07: a handler that stalls between two messages is cut off by the call's deadline."""
    closed = asyncio.Event()

    async def stream(_request: Any, _context: Any) -> AsyncIterator[Any]:
        try:
            yield pb.Answer(word="first")
            await asyncio.Event().wait()
        finally:
            closed.set()

    async with served(Probe(stream=stream), default_deadline_seconds=0.1) as wire, wire.bare() as stub:
        await refused(collected(stub.List(pb.Ask(), metadata=AS_PORTAL)), Reason.REASON_DEADLINE_EXCEEDED)
        await closed.wait()


async def test_client_that_does_not_read_cannot_hold_a_handler() -> None:
    """MSH-07: a stalled write counts as a step, so the handler ends though its client never does."""
    closed = asyncio.Event()

    async def stream(_request: Any, _context: Any) -> AsyncIterator[Any]:
        try:
            while True:
                yield pb.Answer(word="x" * 100_000)
        finally:
            closed.set()

    async with served(Probe(stream=stream), default_deadline_seconds=0.2) as wire, wire.bare() as stub:
        call = stub.List(pb.Ask(), metadata=AS_PORTAL)
        await call.read()
        await closed.wait()
        call.cancel()


async def test_client_that_leaves_ends_its_handler(wire: Wire) -> None:
    """FIN-23: a cancelled call cancels its handler at an await, and the stack unwinds in the same task."""
    began, ended = asyncio.Event(), asyncio.Event()

    async def behave(_request: Any, _context: Any) -> Any:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            assert caller.current() == PORTAL
            ended.set()

    wire.probe.behave = behave
    async with wire.bare() as stub:
        call = stub.Write(pb.Ask(), metadata=AS_PORTAL)
        await began.wait()
        call.cancel()
        await ended.wait()
