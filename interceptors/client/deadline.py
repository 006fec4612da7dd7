"""One deadline over a whole logical call: token, sending, every attempt and pause, body, decoding (MSH-07)."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc

from canopy.errors.v1.reason_pb2 import Reason
from interceptors.client.chain import Call, Middleware, Send
from services.kernel import deadline as current_deadline
from services.kernel.deadline import Deadline
from services.kernel.errors import ClientError, ClientFailure


def deadline(overall_seconds: float) -> Middleware:
    """Give the call the least of: what is left of the call being served, `overall_seconds`, what its caller asked for.

    Every attempt tells gRPC what is left, so the other side knows, and a stream that stalls later ends by that too.
    Needs: status.
    """

    async def middleware(call: Call, send: Send) -> Any:
        inherited = current_deadline.current()
        limits = [overall_seconds, inherited.remaining() if inherited else None, call.timeout]
        seconds = min(limit for limit in limits if limit is not None)
        call.deadline = Deadline.after(seconds)
        if seconds <= 0:
            raise _out_of_time(call)
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                return await send()
        except TimeoutError:
            if limit.expired():
                raise _out_of_time(call) from None
            raise

    return middleware


def _out_of_time(call: Call) -> ClientError:
    return ClientError(
        ClientFailure.OVERALL_TIMEOUT,
        method=call.method,
        code=grpc.StatusCode.DEADLINE_EXCEEDED.value[0],
        reason=Reason.REASON_DEADLINE_EXCEEDED,
        may_have_happened=call.may_have_happened,
    )
