"""Sends a call again where the contract says that this does no harm and the other side could not take it."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any, Final

import grpc
from google.protobuf import descriptor_pool

from interceptors.client.chain import Call, Middleware, Send
from interceptors.client.policy import RetryPolicy
from interceptors.client.status import certainly_refused, details_of
from services.kernel.ids import new_id
from services.kernel.policy import Idempotency, idempotency_of

IDEMPOTENCY_KEY: Final = "idempotency-key"


def retry(policy: RetryPolicy) -> Middleware:
    """Retry what is unavailable, and what is overloaded and says when to come back. Needs: deadline.

    Never ABORTED: that state has moved on. The idempotency key is made here, once for all attempts (MSH-09). A pause
    that would outlast the deadline is not begun: the caller hears at once.
    """

    async def middleware(call: Call, send: Send) -> Any:
        call.metadata[IDEMPOTENCY_KEY] = new_id()
        attempts = policy.attempts if _idempotency(call.method).repeatable else 1
        while True:
            before = call.may_have_happened
            try:
                return await send()
            except grpc.aio.AioRpcError as error:
                if certainly_refused(error):
                    call.may_have_happened = before
                if call.attempts >= attempts or not _is_transient(error):
                    raise
                pause = policy.pause(call.attempts, details_of(error).retry_after)
                if call.deadline is not None and pause >= call.deadline.remaining():
                    raise
            await asyncio.sleep(pause)

    return middleware


def _is_transient(error: grpc.aio.AioRpcError) -> bool:
    if error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return details_of(error).retry_after is not None
    return error.code() is grpc.StatusCode.UNAVAILABLE


@cache
def _idempotency(method: str) -> Idempotency:
    """Read the contract of a method by its name on the wire; a method whose contract is not loaded is not repeated."""
    try:
        found = descriptor_pool.Default().FindMethodByName(method.lstrip("/").replace("/", "."))
    except KeyError:
        return Idempotency.UNKNOWN
    return idempotency_of(found)
