"""What calls leave behind in traces and metrics."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from opentelemetry import trace
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry

from canopy.errors.v1.reason_pb2 import Reason
from services.kernel.errors import ClientError, Refusal
from tests.integration.interceptors.conftest import Wire
from tests.probe import pb

SERVICE = "canopy.probe.v1.ProbeService"


async def test_both_sides_of_a_call_are_one_trace(wire: Wire, spans: InMemorySpanExporter) -> None:
    """OPS-03: the server's span is a child of the client's; an error carries the id of that trace."""

    async def behave(_request: Any, _context: Any) -> Any:
        raise Refusal(Reason.REASON_VERSION_STALE)

    wire.probe.behave = behave
    async with wire.stacked() as stub:
        with pytest.raises(ClientError) as caught:
            await stub.Write(pb.Ask(word="private"))

    by_kind = {span.kind: span for span in spans.get_finished_spans()}
    server, client = by_kind[trace.SpanKind.SERVER], by_kind[trace.SpanKind.CLIENT]
    assert server.parent is not None
    assert client.context is not None
    assert server.parent.span_id == client.context.span_id
    assert caught.value.metadata["trace_id"] == trace.format_trace_id(client.context.trace_id)
    assert dict(server.attributes or {}) == {
        "rpc.system": "grpc",
        "rpc.service": SERVICE,
        "rpc.method": "Write",
        "rpc.grpc.status_code": 10,
        "canopy.reason": "REASON_VERSION_STALE",
    }
    assert server.status.status_code is trace.StatusCode.UNSET  # a refusal is a correct answer
    assert client.status.status_code is trace.StatusCode.ERROR
    assert "private" not in server.to_json() + client.to_json()


async def test_fault_marks_the_span_and_keeps_its_text_out(wire: Wire, spans: InMemorySpanExporter) -> None:
    """OPS-03: neither an exception event nor its message reaches a trace."""

    async def behave(_request: Any, _context: Any) -> Any:
        raise ValueError("ssn 123456789")

    wire.probe.behave = behave
    async with wire.stacked() as stub:
        with pytest.raises(ClientError):
            await stub.Write(pb.Ask())

    [server] = [span for span in spans.get_finished_spans() if span.kind is trace.SpanKind.SERVER]
    assert server.status.status_code is trace.StatusCode.ERROR
    assert not server.events
    assert "123456789" not in server.to_json()


async def test_status_of_a_servicer_that_is_not_ours_is_seen(wire: Wire, spans: InMemorySpanExporter) -> None:
    """OPS-03: what the health service answers by itself is in the span, too."""
    async with grpc.aio.insecure_channel(wire.address) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        with pytest.raises(grpc.aio.AioRpcError):
            await stub.Check(health_pb2.HealthCheckRequest(service="nobody"))

    [server] = spans.get_finished_spans()
    assert (server.attributes or {})["rpc.grpc.status_code"] == grpc.StatusCode.NOT_FOUND.value[0]


async def test_cancelled_call_is_counted_as_cancelled(wire: Wire, spans: InMemorySpanExporter) -> None:
    """OPS-03: a client that leaves is an outcome, too."""
    began, ended = asyncio.Event(), asyncio.Event()

    async def behave(_request: Any, _context: Any) -> Any:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    wire.probe.behave = behave
    async with wire.bare() as stub:
        call = stub.Write(pb.Ask(), metadata=(("authorization", "Bearer portal"),))
        await began.wait()
        call.cancel()
        await ended.wait()
    await wire.server.stop(None)

    [server] = spans.get_finished_spans()
    assert (server.attributes or {})["rpc.grpc.status_code"] == 1


async def test_calls_and_retries_are_counted_by_outcome(wire: Wire, registry: CollectorRegistry) -> None:
    """OPS-03: one logical call, its attempts and its outcome; labels come from the contract."""
    failures = [Refusal(Reason.REASON_UPSTREAM_UNAVAILABLE, retry_after=0.001)]

    async def behave(_request: Any, _context: Any) -> Any:
        if failures:
            raise failures.pop()
        return pb.Answer()

    def value(name: str, **labels: str) -> float:
        method = {"rpc_system": "grpc", "rpc_service": SERVICE, "rpc_method": "Put"}
        return registry.get_sample_value(name, method | labels) or 0.0

    ok = {"rpc_grpc_status_code": "0", "canopy_reason": ""}
    down = {"rpc_grpc_status_code": "14", "canopy_reason": "REASON_UPSTREAM_UNAVAILABLE"}
    before = [
        value("canopy_rpc_client_calls_total", **ok),
        value("canopy_rpc_server_calls_total", **ok),
        value("canopy_rpc_server_calls_total", **down),
        value("canopy_rpc_client_retries_total"),
        value("canopy_rpc_server_duration_seconds_count"),
    ]
    wire.probe.behave = behave
    async with wire.stacked() as stub:
        await stub.Put(pb.Ask())

    after = [
        value("canopy_rpc_client_calls_total", **ok),
        value("canopy_rpc_server_calls_total", **ok),
        value("canopy_rpc_server_calls_total", **down),
        value("canopy_rpc_client_retries_total"),
        value("canopy_rpc_server_duration_seconds_count"),
    ]
    assert [now - then for now, then in zip(after, before, strict=True)] == [1, 1, 1, 1, 2]
