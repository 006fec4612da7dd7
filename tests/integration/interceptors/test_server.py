"""The server stack over the real wire, seen by a client that has nothing of ours."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc

from canopy.errors.v1.reason_pb2 import Reason
from interceptors.server.stack import server_stack
from services.kernel import caller, deadline
from services.kernel.errors import ClientError, ClientFailure, Refusal
from services.kernel.policy import MissingPolicyError
from tests.integration.interceptors.conftest import PORTAL, Probe, Tokens, Wire, served
from tests.probe import pb, rpc

PORTAL_METADATA = (("authorization", "Bearer portal"),)


def details_of(error: grpc.aio.AioRpcError) -> tuple[error_details_pb2.ErrorInfo, Any, Any]:
    """Read ErrorInfo, BadRequest and RetryInfo; empty messages for those that are not there."""
    info, bad, retry = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest(), error_details_pb2.RetryInfo()
    trailing: Any = dict(error.trailing_metadata() or ())
    for detail in status_pb2.Status.FromString(trailing["grpc-status-details-bin"]).details:
        for message in (info, bad, retry):
            detail.Unpack(message)
    return info, bad, retry


async def refused(call: Any, reason: Reason) -> grpc.aio.AioRpcError:
    """Await a call that must be refused for `reason`."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    info, _, _ = details_of(caught.value)
    assert (info.domain, info.reason) == ("canopy", Reason.Name(reason))
    return caught.value


async def collected(stream: Any) -> list[str]:
    return [answer.word async for answer in stream]


async def test_admitted_service_is_answered_with_caller_and_deadline_in_reach(wire: Wire) -> None:
    """MSH-03: the named service passes; caller and deadline are readable in the handler."""
    seen: list[Any] = []

    async def behave(request: Any, _context: Any) -> Any:
        current = deadline.current()
        assert current is not None
        seen.extend([caller.current(), current.remaining()])
        return pb.Answer(word=request.word)

    wire.probe.behave = behave
    async with wire.bare() as stub:
        answer = await stub.Write(pb.Ask(word="hello"), metadata=PORTAL_METADATA, timeout=10)

    assert answer.word == "hello"
    assert seen[0] == PORTAL
    assert seen[1] <= 10 - 0.02


@pytest.mark.parametrize(
    "metadata",
    [(), (("authorization", "Basic portal"),), (("authorization", "Bearer "),), (("authorization", "Bearer nobody"),)],
)
async def test_call_without_a_good_token_is_unauthenticated(wire: Wire, metadata: Any) -> None:
    """MSH-06: no token, another scheme, an empty or an unknown one: the same refusal, without detail."""
    async with wire.bare() as stub:
        error = await refused(stub.Write(pb.Ask(), metadata=metadata), Reason.REASON_UNAUTHENTICATED)

    assert error.code() is grpc.StatusCode.UNAUTHENTICATED
    info, bad, _ = details_of(error)
    assert set(info.metadata) == {"trace_id"}
    assert not bad.field_violations


@pytest.mark.parametrize("token", ["azp-only", "other-service", "steward"])
async def test_caller_that_the_contract_does_not_name_is_denied(wire: Wire, token: str) -> None:
    """MSH-04: an id that matches by azp alone proves nothing; other services and people are not on the list."""
    async with wire.bare() as stub:
        call = stub.Write(pb.Ask(), metadata=(("authorization", f"Bearer {token}"),))
        error = await refused(call, Reason.REASON_CALLER_NOT_ALLOWED)

    assert error.code() is grpc.StatusCode.PERMISSION_DENIED


async def test_service_by_role_may_be_named_by_its_azp(wire: Wire) -> None:
    """MSH-04: with the service role, service_id() may fall back to azp."""
    async with wire.bare() as stub:
        answer = await stub.Write(pb.Ask(word="a"), metadata=(("authorization", "Bearer azp-service"),))

    assert answer.word == "a"


async def test_role_of_a_person_admits_where_the_contract_names_it(wire: Wire) -> None:
    """MSH-05: a data steward passes where the method says so."""
    async with wire.bare() as stub:
        assert await stub.Read(pb.Ask(), metadata=(("authorization", "Bearer steward"),)) is not None


async def test_public_method_ignores_a_stale_token(wire: Wire) -> None:
    """MSH-03: a public method asks for no token and does not look at one."""
    async with wire.bare() as stub:
        assert (await stub.Open(pb.Ask(word="a"))).word == "a"
        assert (await stub.Open(pb.Ask(word="b"), metadata=(("authorization", "Bearer nobody"),))).word == "b"


async def test_stranger_learns_nothing_from_a_broken_message(wire: Wire) -> None:
    """MSH-03: access is decided before the message is looked at."""
    async with wire.bare() as stub:
        broken = pb.Ask(word="x" * 21)
        await refused(stub.Write(broken), Reason.REASON_UNAUTHENTICATED)
        await refused(
            stub.Write(broken, metadata=(("authorization", "Bearer other-service"),)), Reason.REASON_CALLER_NOT_ALLOWED
        )
        await refused(stub.Write(broken, metadata=PORTAL_METADATA), Reason.REASON_INVALID_FIELD)


async def test_broken_message_names_every_field_and_no_value(wire: Wire) -> None:
    """MSH-08: BadRequest lists all violations by path and rule; the sent values appear nowhere."""
    async with wire.bare() as stub:
        ask = pb.Ask(word="secret-value" * 3, name=pb.Name(family="9secret"))
        error = await refused(stub.Write(ask, metadata=PORTAL_METADATA), Reason.REASON_INVALID_FIELD)

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
        await refused(stub.Write(ask, metadata=PORTAL_METADATA), Reason.REASON_UNKNOWN_FIELD)


@pytest.mark.parametrize("data", [b"\x0a\xff", b"\x0a\x02\xff\xfe"], ids=["cut short", "not UTF-8"])
async def test_bytes_that_are_no_message_are_refused(wire: Wire, data: bytes) -> None:
    """MSH-08: what cannot be decoded has a typed refusal, too."""
    async with grpc.aio.insecure_channel(wire.address) as channel:
        write = channel.unary_unary("/canopy.probe.v1.ProbeService/Write")
        await refused(write(data, metadata=PORTAL_METADATA), Reason.REASON_MALFORMED_BODY)


async def test_text_reaches_the_handler_in_form_c(wire: Wire) -> None:
    """FIN-09: what is stored and hashed is the normalised message itself."""
    async with wire.bare() as stub:
        answer = await stub.Write(pb.Ask(word="e\u0301"), metadata=PORTAL_METADATA)

    assert answer.word == "\u00e9"


async def test_refusal_with_a_retry_carries_it_twice(wire: Wire) -> None:
    """MSH-08: RetryInfo for gRPC clients, a retry-after header for the edge; the moment may know better."""

    async def behave(_request: Any, _context: Any) -> Any:
        raise Refusal(Reason.REASON_OPERATION_BUSY, retry_after=1.2)

    wire.probe.behave = behave
    async with wire.bare() as stub:
        error = await refused(stub.Write(pb.Ask(), metadata=PORTAL_METADATA), Reason.REASON_OPERATION_BUSY)

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
        error = await refused(stub.Write(pb.Ask(), metadata=PORTAL_METADATA), Reason.REASON_SESSION_REQUIRED)

    trailing: Any = error.trailing_metadata()
    assert trailing.get_all("set-cookie") == ["a=; Max-Age=0", "b=; Max-Age=0"]


async def test_fault_is_told_by_its_trace_id_alone(wire: Wire, caplog: pytest.LogCaptureFixture) -> None:
    """MSH-08: an unforeseen exception gives a fixed text; the log has its type and place, nobody has its message."""

    async def behave(_request: Any, _context: Any) -> Any:
        raise ValueError("DETAIL: Key (ssn)=(123456789) already exists")

    wire.probe.behave = behave
    with caplog.at_level(logging.ERROR):
        async with wire.bare() as stub:
            error = await refused(stub.Write(pb.Ask(), metadata=PORTAL_METADATA), Reason.REASON_INTERNAL)

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
        await refused(stub.Write(pb.Ask(), metadata=PORTAL_METADATA), reason)


async def test_handler_out_of_time_is_cut_and_reported() -> None:
    """MSH-07: a call without a deadline gets ours; it ends with DEADLINE_EXCEEDED and the handler is cancelled."""
    cancelled = asyncio.Event()

    async def behave(_request: Any, _context: Any) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async with served(Probe(behave), default_deadline_seconds=0.05) as wire, wire.bare() as stub:
        error = await refused(stub.Write(pb.Ask(), metadata=PORTAL_METADATA), Reason.REASON_DEADLINE_EXCEEDED)

    assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert cancelled.is_set()


async def test_timeout_of_the_handlers_own_is_a_fault(wire: Wire) -> None:
    """MSH-07: only the call's deadline is reported as one."""

    async def behave(_request: Any, _context: Any) -> Any:
        raise TimeoutError

    wire.probe.behave = behave
    async with wire.bare() as stub:
        await refused(stub.Write(pb.Ask(), metadata=PORTAL_METADATA), Reason.REASON_INTERNAL)


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
            await stub.Write(pb.Ask(), metadata=PORTAL_METADATA, timeout=0.015)

    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert not started


async def test_stream_is_refused_before_and_after_its_first_message(wire: Wire) -> None:
    """MSH-08: refusals of a streaming method are statuses with ErrorInfo, wherever they happen."""

    async def stream(request: Any, _context: Any) -> AsyncIterator[Any]:
        if request.word == "later":
            yield pb.Answer(word="first")
        raise Refusal(Reason.REASON_VERSION_STALE)

    wire.probe.stream = stream
    async with wire.bare() as stub:
        await refused(collected(stub.List(pb.Ask())), Reason.REASON_UNAUTHENTICATED)
        await refused(collected(stub.List(pb.Ask(word="now"), metadata=PORTAL_METADATA)), Reason.REASON_VERSION_STALE)
        later = stub.List(pb.Ask(word="later"), metadata=PORTAL_METADATA)
        assert (await later.read()).word == "first"
        await refused(later.read(), Reason.REASON_VERSION_STALE)


async def test_stream_is_delivered_whole(wire: Wire) -> None:
    """MSH-07: a stream within its deadline arrives in order."""

    async def stream(_request: Any, _context: Any) -> AsyncIterator[Any]:
        for number in range(50):
            yield pb.Answer(word=str(number))

    wire.probe.stream = stream
    async with wire.bare() as stub:
        words = await collected(stub.List(pb.Ask(), metadata=PORTAL_METADATA))

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
        await refused(collected(stub.List(pb.Ask(), metadata=PORTAL_METADATA)), Reason.REASON_DEADLINE_EXCEEDED)
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
        call = stub.List(pb.Ask(), metadata=PORTAL_METADATA)
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
        call = stub.Write(pb.Ask(), metadata=PORTAL_METADATA)
        await began.wait()
        call.cancel()
        await ended.wait()


async def test_every_request_of_a_stream_is_checked(wire: Wire) -> None:
    """MSH-08: client streams and both-way streams are validated message by message."""
    async with wire.bare() as stub:
        good, bad = pb.Ask(word="a"), pb.Ask(word="x" * 21)
        assert (await stub.Collect(iter([good, good]), metadata=PORTAL_METADATA)).word == "aa"
        await refused(stub.Collect(iter([good, bad]), metadata=PORTAL_METADATA), Reason.REASON_INVALID_FIELD)
        chat = stub.Chat(iter([good, bad]), metadata=PORTAL_METADATA)
        assert (await chat.read()).word == "a"
        await refused(chat.read(), Reason.REASON_INVALID_FIELD)


async def test_health_is_open_and_keeps_its_own_statuses(wire: Wire) -> None:
    """MSH-10: probes need no token; what the health service answers is passed on as it is."""
    async with grpc.aio.insecure_channel(wire.address) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        answer = await stub.Check(health_pb2.HealthCheckRequest())
        watch = stub.Watch(health_pb2.HealthCheckRequest())
        first = await watch.read()
        watch.cancel()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.Check(health_pb2.HealthCheckRequest(service="nobody"))

    assert answer.status == first.status == health_pb2.HealthCheckResponse.SERVING
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND


async def test_method_without_a_policy_admits_nobody() -> None:
    """MSH-03: deny by default, even if a service is added behind the stack's back."""
    stack = server_stack([], Tokens())
    server = grpc.aio.server(interceptors=[stack])
    rpc.add_ProbeServiceServicer_to_server(Probe(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub = rpc.ProbeServiceStub(channel)
        await refused(stub.Open(pb.Ask()), Reason.REASON_UNAUTHENTICATED)
        await refused(stub.Open(pb.Ask(), metadata=PORTAL_METADATA), Reason.REASON_CALLER_NOT_ALLOWED)
    await server.stop(None)


@pytest.mark.parametrize("service", ["BareService", "ConfusedService"])
def test_contract_without_a_clear_policy_cannot_be_served(service: str) -> None:
    """MSH-03: start-up fails where a method has no access policy, or a contradictory one."""
    with pytest.raises(MissingPolicyError, match=service):
        server_stack([pb.DESCRIPTOR.services_by_name[service]], Tokens())
