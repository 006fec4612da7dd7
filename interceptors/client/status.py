"""Reads what came back: a failed call becomes a ClientError of a kind, with our reason where there is one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from canopy.errors.v1.reason_pb2 import Reason
from interceptors.client.chain import Call, Send, Undecodable
from interceptors.error_details import DOMAIN, METADATA_KEY
from services.kernel.errors import ClientError, ClientFailure, Violation

_Code = grpc.StatusCode
_KINDS: Mapping[grpc.StatusCode, ClientFailure] = {
    _Code.UNAVAILABLE: ClientFailure.TRANSIENT_EXHAUSTED,
    _Code.RESOURCE_EXHAUSTED: ClientFailure.TRANSIENT_EXHAUSTED,
    _Code.CANCELLED: ClientFailure.TRANSIENT_EXHAUSTED,  # by the other side: our own cancellation is no status
    _Code.DEADLINE_EXCEEDED: ClientFailure.OVERALL_TIMEOUT,
    _Code.UNAUTHENTICATED: ClientFailure.AUTH,
    _Code.PERMISSION_DENIED: ClientFailure.AUTH,
    _Code.NOT_FOUND: ClientFailure.NOT_FOUND,
    _Code.ABORTED: ClientFailure.CONFLICT,
    _Code.ALREADY_EXISTS: ClientFailure.CONFLICT,
    _Code.INVALID_ARGUMENT: ClientFailure.UNPROCESSABLE,
    _Code.FAILED_PRECONDITION: ClientFailure.UNPROCESSABLE,
    _Code.OUT_OF_RANGE: ClientFailure.UNPROCESSABLE,
}
# Codes by which a service of ours says that it did not do it. The others, as INTERNAL and UNAVAILABLE, can follow a
# commit.
_REFUSALS: Final = frozenset(
    {
        _Code.UNAUTHENTICATED,
        _Code.PERMISSION_DENIED,
        _Code.NOT_FOUND,
        _Code.ABORTED,
        _Code.ALREADY_EXISTS,
        _Code.INVALID_ARGUMENT,
        _Code.FAILED_PRECONDITION,
        _Code.OUT_OF_RANGE,
        _Code.RESOURCE_EXHAUSTED,
        _Code.UNIMPLEMENTED,
    }
)


_REASONS: Mapping[str, Reason] = dict(Reason.items())  # pyright: ignore[reportAssignmentType]


@dataclass(frozen=True, slots=True, kw_only=True)
class Details:
    """What a status says beyond its code."""

    reason: Reason = Reason.REASON_UNSPECIFIED
    violations: tuple[Violation, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    retry_after: float | None = None  # seconds; None where no retry is advised


async def status(call: Call, send: Send) -> Any:
    """Raise every failure as a ClientError. Needs to be outside of retry, which decides on the raw status."""
    try:
        return await send()
    except (grpc.aio.AioRpcError, Undecodable) as error:
        raise client_error(call, error) from None
    except ClientError as error:  # of the token source, or of the deadline: neither knows of earlier attempts
        error.may_have_happened = error.may_have_happened or call.may_have_happened
        raise


def client_error(call: Call, error: Exception) -> ClientError:
    """Describe a status, or an answer that could not be decoded, in the terms a caller decides by."""
    if not isinstance(error, grpc.aio.AioRpcError):
        code, details, kind = _Code.INTERNAL, Details(), ClientFailure.DECODE
    else:
        code, details = error.code(), details_of(error)
        kind = _KINDS.get(code, ClientFailure.CONTRACT)
        if code is _Code.RESOURCE_EXHAUSTED and "larger than max" in (error.details() or ""):
            kind = ClientFailure.DECODE  # by gRPC itself, on either side: the limit of a message
    return ClientError(
        kind,
        method=call.method,
        code=code.value[0],
        reason=details.reason,
        violations=details.violations,
        metadata=details.metadata,
        retry_after=details.retry_after,
        may_have_happened=call.may_have_happened,
    )


def certainly_refused(error: grpc.aio.AioRpcError) -> bool:
    """Tell whether the other side said that it did not do it, by a refusal with our details; a code proves nothing."""
    return error.code() in _REFUSALS and details_of(error).reason != Reason.REASON_UNSPECIFIED


def details_of(error: grpc.aio.AioRpcError | grpc.Call) -> Details:
    """Read the details of a status; empty ones where there are none, or none that can be read."""
    packed = dict(error.trailing_metadata() or ()).get(METADATA_KEY)
    if not isinstance(packed, bytes):
        return Details()
    info, retry, bad = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo(), error_details_pb2.BadRequest()
    try:
        for detail in status_pb2.Status.FromString(packed).details:
            detail.Unpack(info)
            detail.Unpack(retry)
            detail.Unpack(bad)
    except DecodeError:
        return Details()
    return Details(
        reason=_REASONS.get(info.reason, Reason.REASON_UNSPECIFIED)
        if info.domain == DOMAIN
        else Reason.REASON_UNSPECIFIED,
        violations=tuple(Violation(field=said.field, rule=said.description) for said in bad.field_violations),
        metadata=dict(info.metadata),
        retry_after=retry.retry_delay.ToNanoseconds() / 1e9 if retry.HasField("retry_delay") else None,
    )
