"""One span, one count and one duration per inbound call. Outermost, so that it sees every outcome."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import grpc
from opentelemetry import trace
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from canopy.errors.v1.reason_pb2 import Reason
from interceptors.server.chain import Call, Middleware
from services.kernel import instruments

_PROPAGATOR: Final = TraceContextTextMapPropagator()
_CANCELLED: int = grpc.StatusCode.CANCELLED.value[0]
# Codes that mean a fault on our side; a refusal is a correct answer and no error of the span.
_FAULTS: frozenset[int] = frozenset(
    code.value[0]
    for code in (
        grpc.StatusCode.UNKNOWN,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.UNIMPLEMENTED,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DATA_LOSS,
    )
)


def telemetry() -> Middleware:
    """Trace and measure the call, and give it its trace id. No message content, no exception text."""

    @asynccontextmanager
    async def middleware(call: Call) -> AsyncIterator[None]:
        labels = instruments.method_labels(call.method)
        span = instruments.tracer().start_span(
            call.method.lstrip("/"),
            context=_PROPAGATOR.extract(call.metadata),
            kind=trace.SpanKind.SERVER,
            attributes=labels,
        )
        call.trace_id = _trace_id_of(span)
        began = time.perf_counter()
        try:
            with trace.use_span(span, record_exception=False, set_status_on_exception=False):
                yield
        except asyncio.CancelledError:
            call.code = _CANCELLED
            raise
        finally:
            _finish(span, call)
            instruments.SERVER_SECONDS.record(time.perf_counter() - began, labels)
            instruments.SERVER_CALLS.add(1, labels | _outcome(call))

    return middleware


def _trace_id_of(span: trace.Span) -> str:
    """Return the trace id; a random one where no SDK is at work, so that an error can still be found in the log."""
    context = span.get_span_context()
    return trace.format_trace_id(context.trace_id) if context.is_valid else secrets.token_hex(16)


def _outcome(call: Call) -> dict[str, str | int]:
    reason = Reason.Name(call.reason) if call.reason else ""
    return {instruments.STATUS_CODE: call.code, instruments.REASON: reason}


def _finish(span: trace.Span, call: Call) -> None:
    span.set_attributes(_outcome(call))
    if call.code in _FAULTS:
        span.set_status(trace.StatusCode.ERROR)
    span.end()
