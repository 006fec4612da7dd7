"""One span, one count and one duration per logical call, whose trace the other side continues.

Of a streaming method, the time to its first message. No message content, no exception text.
"""

from __future__ import annotations

import time
from typing import Any, Final

import grpc
from opentelemetry import trace
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from canopy.errors.v1.reason_pb2 import Reason
from interceptors.client.chain import Call, Send
from services.kernel import instruments
from services.kernel.errors import ClientError

_PROPAGATOR: Final = TraceContextTextMapPropagator()
_OK: int = grpc.StatusCode.OK.value[0]
_CANCELLED: int = grpc.StatusCode.CANCELLED.value[0]


async def telemetry(call: Call, send: Send) -> Any:
    """Trace and measure the call. Must be outside of status: it sees ClientErrors."""
    labels = instruments.method_labels(call.method)
    span = instruments.tracer().start_span(call.method.lstrip("/"), kind=trace.SpanKind.CLIENT, attributes=labels)
    _PROPAGATOR.inject(call.metadata, trace.set_span_in_context(span))
    began = time.perf_counter()
    outcome: dict[str, str | int] = {instruments.STATUS_CODE: _CANCELLED, instruments.REASON: ""}
    try:
        answer = await send()
        outcome[instruments.STATUS_CODE] = _OK
    except ClientError as error:
        outcome = {instruments.STATUS_CODE: error.code, instruments.REASON: _name(error.reason)}
        span.set_status(trace.StatusCode.ERROR)
        raise
    else:
        return answer
    finally:
        span.set_attributes(outcome)
        span.end()
        instruments.CLIENT_SECONDS.record(time.perf_counter() - began, labels)
        instruments.CLIENT_CALLS.add(1, labels | outcome)
        if call.attempts > 1:
            instruments.CLIENT_RETRIES.add(call.attempts - 1, labels)


def _name(reason: Reason) -> str:
    return Reason.Name(reason) if reason else ""
