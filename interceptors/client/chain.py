"""The mechanism of client middleware: functions around `send`, one adapter for gRPC's unary and streaming answers.

A middleware gets the call and a `send` that goes on inwards; it may call it never, once, or, to retry, again. What
`send` returns is the answer, or for a streaming method the opened stream with its first message read: whatever is
refused is refused by then, and only until then can it be sent again.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import grpc

from services.kernel import tally
from services.kernel.deadline import Deadline


@dataclass(slots=True, kw_only=True)
class Call:
    """One logical call: all its attempts. The second half is filled in on the way."""

    method: str  # name on the wire, "/canopy.persons.v1.PersonsService/BatchGetPersons"
    timeout: float | None  # seconds that the caller asked for

    metadata: dict[str, str] = field(default_factory=dict, repr=False)  # sent with every attempt, beside the caller's
    deadline: Deadline | None = None
    attempts: int = 0  # sent so far
    may_have_happened: bool = False  # an attempt was sent and not certainly refused


Send: TypeAlias = Callable[[], Awaitable[Any]]
Middleware: TypeAlias = Callable[[Call, Send], Awaitable[Any]]
Translate: TypeAlias = Callable[[Call, Exception], Exception]


class Undecodable(Exception):
    """The answer is not a message of the declared type."""


@dataclass(frozen=True, slots=True)
class _Opened:
    """A stream whose first message (or end) has been read."""

    first: Any
    rest: Any


def interceptors(stack: Sequence[Middleware], translate: Translate) -> list[grpc.aio.ClientInterceptor]:
    """Build what grpc.aio.insecure_channel takes. The first middleware is the outermost.

    translate: turns an error in the middle of a stream, which no middleware sees any more, into what is raised.
    """
    return [_Unary(stack), _Stream(stack, translate)]


class _Unary(grpc.aio.UnaryUnaryClientInterceptor):
    def __init__(self, stack: Sequence[Middleware]) -> None:
        self._stack = stack

    async def intercept_unary_unary(self, continuation: Any, client_call_details: Any, request: Any) -> Any:
        call = _call_of(client_call_details)

        async def attempt() -> Any:
            sent = await continuation(_details(client_call_details, call), request)
            return _decoded(await sent)

        return await _run(self._stack, call, attempt)


class _Stream(grpc.aio.UnaryStreamClientInterceptor):
    def __init__(self, stack: Sequence[Middleware], translate: Translate) -> None:
        self._stack = stack
        self._translate = translate

    async def intercept_unary_stream(
        self, continuation: Any, client_call_details: Any, request: Any
    ) -> AsyncIterator[Any]:
        call = _call_of(client_call_details)

        async def attempt() -> _Opened:
            sent = await continuation(_details(client_call_details, call), request)
            return _Opened(first=_decoded(await sent.read()), rest=sent)

        return self._messages(call, await _run(self._stack, call, attempt))

    async def _messages(self, call: Call, opened: _Opened) -> AsyncGenerator[Any, None]:
        message = opened.first
        while message is not grpc.aio.EOF:
            yield message
            try:
                message = _decoded(await opened.rest.read())
            except (grpc.aio.AioRpcError, Undecodable) as error:
                raise self._translate(call, error) from None


async def _run(stack: Sequence[Middleware], call: Call, attempt: Send) -> Any:
    async def innermost() -> Any:
        call.attempts += 1
        call.may_have_happened = True
        tally.count(rpcs=1)
        return await attempt()

    send: Send = innermost
    for middleware in reversed(stack):
        send = partial(middleware, call, send)
    return await send()


def _call_of(details: Any) -> Call:
    method = details.method.decode() if isinstance(details.method, bytes) else details.method
    return Call(method=method, timeout=details.timeout)


def _details(details: Any, call: Call) -> grpc.aio.ClientCallDetails:
    """Describe one attempt to gRPC: the caller's own metadata and ours, and the time that is left."""
    metadata = grpc.aio.Metadata(*(details.metadata or ()), *call.metadata.items())
    remaining = call.deadline.remaining() if call.deadline else None
    return grpc.aio.ClientCallDetails(details.method, remaining, metadata, details.credentials, details.wait_for_ready)


def _decoded(answer: Any) -> Any:
    """Pass an answer on; gRPC gives None for one that it could not decode."""
    if answer is None:
        raise Undecodable
    return answer
