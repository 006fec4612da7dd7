"""Server stack, refusals: what a client that has nothing of ours is told, and what it is not."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from canopy.errors.v1.reason_pb2 import Reason
from services.kernel.errors import ClientError, ClientFailure, Refusal
from tests.integration.interceptors.conftest import (
    AS_PORTAL,
    Wire,
    collected,
    details_of,
    refused,
)
from tests.probe import pb


async def test_broken_message_names_every_field_and_no_value(wire: Wire) -> None:
    """MSH-08: BadRequest lists all violations by path and rule; the sent values appear nowhere."""
    async with wire.bare() as stub:
        ask = pb.Ask(word="secret-value" * 3, name=pb.Name(family="<secret>"))
        error = await refused(stub.Write(ask, metadata=AS_PORTAL), Reason.REASON_INVALID_FIELD)

    info, bad, retry = details_of(error)
    assert {(v.field, v.description) for v in bad.field_violations} == {
        ("word", "max_size"),
        ("name.family", "format_name"),
        ("name.given", "required"),
    }
    assert info.metadata["field"] == "word"
    assert not retry.HasField("retry_delay")
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert error.details() == "invalid field"
    assert "secret" not in repr(error)


async def test_unknown_field_is_refused_with_its_place(wire: Wire) -> None:
    """FIN-09: a field that this version does not know is refused, not dropped."""
    async with wire.bare() as stub:
        newer = pb.NewerAsk(word="a", extra="more").SerializeToString()
        ask = pb.Ask.FromString(newer)
        await refused(stub.Write(ask, metadata=AS_PORTAL), Reason.REASON_UNKNOWN_FIELD)


@pytest.mark.parametrize("data", [b"\x0a\xff", b"\x0a\x02\xff\xfe"], ids=["cut short", "not UTF-8"])
async def test_bytes_that_are_no_message_are_refused(wire: Wire, data: bytes) -> None:
    """MSH-08: what cannot be decoded has a typed refusal, too."""
    async with grpc.aio.insecure_channel(wire.address) as channel:
        write = channel.unary_unary("/canopy.probe.v1.ProbeService/Write")
        await refused(write(data, metadata=AS_PORTAL), Reason.REASON_MALFORMED_BODY)


async def test_text_reaches_the_handler_in_form_c(wire: Wire) -> None:
    """FIN-09: what is stored and hashed is the normalised message itself."""
    async with wire.bare() as stub:
        answer = await stub.Write(pb.Ask(word="e\u0301"), metadata=AS_PORTAL)

    assert answer.word == "\u00e9"


async def test_every_request_of_a_stream_is_checked(wire: Wire) -> None:
    """MSH-08: client streams and both-way streams are validated message by message."""
    async with wire.bare() as stub:
        good, bad = pb.Ask(word="a"), pb.Ask(word="x" * 21)
        assert (await stub.Collect(iter([good, good]), metadata=AS_PORTAL)).word == "aa"
        await refused(stub.Collect(iter([good, bad]), metadata=AS_PORTAL), Reason.REASON_INVALID_FIELD)
        chat = stub.Chat(iter([good, bad]), metadata=AS_PORTAL)
        assert (await chat.read()).word == "a"
        await refused(chat.read(), Reason.REASON_INVALID_FIELD)


async def test_refusal_with_a_retry_carries_it_twice(wire: Wire) -> None:
    """MSH-08: RetryInfo for gRPC clients, a retry-after header for the edge; the moment may know better."""

    async def behave(_request: Any, _context: Any) -> Any:
        raise Refusal(Reason.REASON_OPERATION_BUSY, retry_after=1.2)

    wire.probe.behave = behave
    async with wire.bare() as stub:
        error = await refused(stub.Write(pb.Ask(), metadata=AS_PORTAL), Reason.REASON_OPERATION_BUSY)

    _, _, retry = details_of(error)
    trailing: Any = dict(error.trailing_metadata() or ())
    assert error.code() is grpc.StatusCode.UNAVAILABLE
    assert retry.retry_delay.ToMilliseconds() == 1200
    assert trailing["retry-after"] == "2"
    assert not error.initial_metadata()  # trailers only: the edge keeps the header


async def test_metadata_of_the_handler_travels_with_the_refusal(wire: Wire) -> None:
    """MSH-08: a handler that refuses can still clear a cookie: its trailing metadata is kept beside ours."""

    async def behave(_request: Any, context: Any) -> Any:
        context.set_trailing_metadata((("set-cookie", "a=; Max-Age=0"), ("set-cookie", "b=; Max-Age=0")))
        raise Refusal(Reason.REASON_SESSION_REQUIRED)

    wire.probe.behave = behave
    async with wire.bare() as stub:
        error = await refused(stub.Write(pb.Ask(), metadata=AS_PORTAL), Reason.REASON_SESSION_REQUIRED)

    trailing: Any = error.trailing_metadata()
    assert trailing.get_all("set-cookie") == ["a=; Max-Age=0", "b=; Max-Age=0"]


async def test_stream_is_refused_before_and_after_its_first_message(wire: Wire) -> None:
    """MSH-08: refusals of a streaming method are statuses with ErrorInfo, wherever they happen."""

    async def stream(request: Any, _context: Any) -> AsyncIterator[Any]:
        if request.word == "later":
            yield pb.Answer(word="first")
        raise Refusal(Reason.REASON_VERSION_STALE)

    wire.probe.stream = stream
    async with wire.bare() as stub:
        await refused(collected(stub.List(pb.Ask())), Reason.REASON_UNAUTHENTICATED)
        await refused(collected(stub.List(pb.Ask(word="now"), metadata=AS_PORTAL)), Reason.REASON_VERSION_STALE)
        later = stub.List(pb.Ask(word="later"), metadata=AS_PORTAL)
        assert (await later.read()).word == "first"
        await refused(later.read(), Reason.REASON_VERSION_STALE)


async def test_fault_is_told_by_its_trace_id_alone(wire: Wire, caplog: pytest.LogCaptureFixture) -> None:
    """MSH-08: an unforeseen exception gives a fixed text; the log has its type and place, nobody has its message."""

    async def behave(_request: Any, _context: Any) -> Any:
        raise ValueError("DETAIL: Key (ssn)=(123456789) already exists")

    wire.probe.behave = behave
    with caplog.at_level(logging.ERROR):
        async with wire.bare() as stub:
            error = await refused(stub.Write(pb.Ask(), metadata=AS_PORTAL), Reason.REASON_INTERNAL)

    info, _, _ = details_of(error)
    [record] = caplog.records
    assert error.details() == "internal"
    assert vars(record)["trace_id"] == info.metadata["trace_id"]
    assert vars(record)["error"] == "builtins.ValueError"
    assert "123456789" not in repr(error) + caplog.text + repr(vars(record))


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (ClientFailure.TRANSIENT_EXHAUSTED, Reason.REASON_UPSTREAM_UNAVAILABLE),
        (ClientFailure.OVERALL_TIMEOUT, Reason.REASON_UPSTREAM_UNAVAILABLE),
        (ClientFailure.CONFLICT, Reason.REASON_INTERNAL),
    ],
)
async def test_unhandled_failure_of_another_service(wire: Wire, kind: ClientFailure, reason: Reason) -> None:
    """MSH-08: what may pass is UNAVAILABLE; what domain code should have decided is a fault of ours."""

    async def behave(_request: Any, _context: Any) -> Any:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())

    async def fail() -> None:
        raise ClientError(kind, method="/a/B", code=14, may_have_happened=True)

    wire.probe.behave = behave
    async with wire.bare() as stub:
        await refused(stub.Write(pb.Ask(), metadata=AS_PORTAL), reason)
