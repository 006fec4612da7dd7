"""The only mapping from errors to statuses: Refusal → code of the catalogue, ErrorInfo, BadRequest, RetryInfo."""

from __future__ import annotations

import logging
import math
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Final

import grpc
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2

from canopy.errors.v1.reason_pb2 import Reason
from interceptors.error_details import DOMAIN, METADATA_KEY
from interceptors.server.chain import Aborted, Call, Middleware
from services.kernel.errors import ClientError, ClientFailure, Refusal, sentence
from services.kernel.policy import failure_of

_FRAMES: Final = 30

_log: Final = logging.getLogger(__name__)


def status() -> Middleware:
    """Turn whatever ends a call early into a status. Needs: telemetry, for the trace id.

    Cancellation passes through, and so does an abort by a servicer that is not ours (health, reflection).
    """

    @asynccontextmanager
    async def middleware(call: Call) -> AsyncIterator[None]:
        try:
            yield
        except grpc.aio.AbortError:
            raise
        except Exception as error:  # noqa: BLE001 -- the one place that must see everything
            refusal = _refusal_of(error, call)
            failure = failure_of(refusal.reason)
            call.code, call.reason = failure.code, refusal.reason
            raise rendered(refusal, call.trace_id) from None

    return middleware


def rendered(refusal: Refusal, trace_id: str) -> Aborted:
    """Build the status of a refusal: fixed text, details, and `retry-after` for the edge where a retry is right."""
    failure = failure_of(refusal.reason)
    retry_after = failure.retry_after if refusal.retry_after is None else refusal.retry_after
    message = sentence(refusal.reason)
    rich = status_pb2.Status(code=failure.code, message=message)
    for detail in _details(refusal, retry_after, trace_id):
        rich.details.add().Pack(detail)
    trailing: list[tuple[str, str | bytes]] = [(METADATA_KEY, rich.SerializeToString())]
    if retry_after > 0:
        trailing.append(("retry-after", str(math.ceil(retry_after))))
    return Aborted(failure.code, message, trailing)


def _details(refusal: Refusal, retry_after: float, trace_id: str) -> Iterator[Message]:
    yield error_details_pb2.ErrorInfo(
        domain=DOMAIN, reason=Reason.Name(refusal.reason), metadata={**refusal.metadata, "trace_id": trace_id}
    )
    if refusal.violations:
        yield error_details_pb2.BadRequest(
            field_violations=[
                error_details_pb2.BadRequest.FieldViolation(field=violation.field, description=violation.rule)
                for violation in refusal.violations
            ]
        )
    if retry_after > 0:
        retry = error_details_pb2.RetryInfo()
        retry.retry_delay.FromMilliseconds(round(retry_after * 1000))
        yield retry


def _refusal_of(error: Exception, call: Call) -> Refusal:
    """Decide what to tell the caller. Faults of ours are logged here, and told as REASON_INTERNAL, no more."""
    match _leaf(error):
        case Refusal() as refusal:
            return refusal
        case ClientError(kind=ClientFailure.TRANSIENT_EXHAUSTED | ClientFailure.OVERALL_TIMEOUT) as failed:
            return Refusal(Reason.REASON_UPSTREAM_UNAVAILABLE, retry_after=failed.retry_after)
        case fault:
            _log_fault(fault, call)
            return Refusal(Reason.REASON_INTERNAL)


def _leaf(error: Exception) -> Exception:
    """Pick from the errors of a task group the one to answer with: a fault of ours before any refusal."""
    if not isinstance(error, ExceptionGroup):
        return error
    leaves = [_leaf(inner) for inner in error.exceptions]
    faults = [leaf for leaf in leaves if not isinstance(leaf, Refusal | ClientError)]
    return (faults or leaves)[0]


def _log_fault(fault: Exception, call: Call) -> None:
    """Log type and place. Not the text: a driver's message may quote a row."""
    cause = fault.__cause__ or fault.__context__
    frames = traceback.extract_tb(fault.__traceback__)[-_FRAMES:]
    _log.error(
        "unhandled exception",
        extra={
            "method": call.method,
            "trace_id": call.trace_id,
            "error": _name(fault),
            "cause": _name(cause) if cause else "",
            "stack": [f"{frame.filename}:{frame.lineno}:{frame.name}" for frame in frames],
        },
    )


def _name(error: BaseException) -> str:
    return f"{type(error).__module__}.{type(error).__qualname__}"
