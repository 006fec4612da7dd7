"""The mechanism of server middleware: one async context manager per concern, one adapter for the four kinds of RPC.

A middleware wraps the whole call: what it does before `yield` happens before the handler, in the order of the stack,
and what it does after happens in reverse. It refuses by raising. Middleware and handler run in the call's own task, so
a ContextVar set by one is seen by the next.

A client that cancels, or whose deadline passes, cancels that task, wherever the handler is waiting. That is safe
without shielding the handler: a database transaction runs in a task of its own that cancellation does not reach. A
handler is only ever cut between two transactions (FIN-23), and what must follow a commit is durable intent that a
worker finishes.

Streaming answers are written here, message by message, and not yielded to gRPC: the stack unwinds in the same task
whatever becomes of the client, and a deadline never fires inside a `yield`.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import grpc
from google.protobuf.message import DecodeError, Message

from canopy.errors.v1.reason_pb2 import Reason
from services.kernel.deadline import Deadline
from services.kernel.errors import Refusal

OK: Final = 0
_END: Final = object()


def _accept(_message: Message) -> None:
    """Let a request message through."""


@dataclass(slots=True, kw_only=True)
class Call:
    """One inbound call as the middleware sees it. The second half is filled in on the way."""

    method: str  # name on the wire, "/canopy.persons.v1.PersonsService/BatchGetPersons"
    metadata: Mapping[str, str | bytes] = field(repr=False)  # keys in lower case; of a repeated key the last value
    time_remaining: float | None  # seconds that the client gives; None where it gives no deadline
    streams_answer: bool

    trace_id: str = ""  # 32 hexadecimal digits; telemetry
    deadline: Deadline | None = None  # deadline; None only for the long-lived calls of the infrastructure
    check: Callable[[Message], None] = _accept  # validation; run on every request message, raises Refusal
    code: int = OK  # gRPC status code number of the outcome
    reason: Reason = field(default=Reason.REASON_UNSPECIFIED)  # of the catalogue, where the call was refused


Middleware: TypeAlias = Callable[[Call], AbstractAsyncContextManager[None]]


class Aborted(Exception):
    """Ends the call with a status. Raised by the status middleware alone; the adapter hands it to gRPC."""

    def __init__(self, code: int, message: str, trailing: Sequence[tuple[str, str | bytes]]) -> None:
        """code: gRPC status code number. trailing: metadata of the trailers-only answer."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.trailing = tuple(trailing)


STATUS_CODES: Mapping[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}


class Chain(grpc.aio.ServerInterceptor):
    """Wraps every handler in the stack that `stack_of` gives for its method; the first middleware is the outermost."""

    def __init__(self, stack_of: Callable[[str], Sequence[Middleware]], max_message_bytes: int) -> None:
        """stack_of: name of a method on the wire → its middleware. max_message_bytes: of a request, or an answer."""
        self._stack_of = stack_of
        self._max_message_bytes = max_message_bytes
        self._wrapped: dict[str, tuple[Any, Any]] = {}

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """Return the wrapped handler of a method; None, which gRPC answers with UNIMPLEMENTED, where there is none."""
        handler = await continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None:
            return None
        known, wrapped = self._wrapped.get(method, (None, None))
        if known is not handler:
            wrapped = _wrap(handler, method, self._stack_of(method), self._max_message_bytes)
            self._wrapped[method] = (handler, wrapped)
        return wrapped


def _wrap(handler: Any, method: str, stack: Sequence[Middleware], max_message_bytes: int) -> Any:
    """Build the handler that gRPC calls instead of `handler`.

    Requests come to us as bytes and are decoded inside the stack: one that cannot be is refused like any other.
    They are waited for inside it, too, so to gRPC every method takes a stream of requests: it would wait for the one
    request of a unary call before anybody has asked who calls, and for as long as the other side likes.
    """
    encode = handler.response_serializer

    def decode(data: bytes) -> Message:
        _require_size(data, max_message_bytes)
        return handler.request_deserializer(data)

    async def request_of(requests: AsyncIterator[bytes], context: Any, call: Call) -> Any:
        if handler.request_streaming:
            return _decoded(requests, decode, call)
        return _decode(await _only_request(context, call), decode, call)

    async def answer_once(requests: Any, context: Any) -> Any:
        inner = handler.stream_unary if handler.request_streaming else handler.unary_unary
        async with _served(method, stack, context, streams_answer=False) as call:
            answer = encode(await inner(await request_of(requests, context, call), context))
            _require_size(answer, max_message_bytes)
            return answer

    async def answer_with_stream(requests: Any, context: Any) -> None:
        inner = handler.stream_stream if handler.request_streaming else handler.unary_stream
        async with _served(method, stack, context, streams_answer=True) as call:
            await _write_all(inner(await request_of(requests, context, call), context), context, call)

    if handler.response_streaming:
        return grpc.stream_stream_rpc_method_handler(answer_with_stream, response_serializer=encode)
    return grpc.stream_unary_rpc_method_handler(answer_once)


@asynccontextmanager
async def _served(
    method: str, stack: Sequence[Middleware], context: Any, *, streams_answer: bool
) -> AsyncGenerator[Call, None]:
    """Run the block inside the stack; what the status middleware decided is handed to gRPC."""
    call = Call(
        method=method,
        metadata=dict(context.invocation_metadata() or ()),
        time_remaining=context.time_remaining(),
        streams_answer=streams_answer,
    )
    try:
        async with AsyncExitStack() as onion:
            for middleware in stack:
                await onion.enter_async_context(middleware(call))
            try:
                yield call
            finally:
                call.code = _code_set_on(context)
    except Aborted as aborted:
        # Without initial metadata the answer is trailers only, and these become headers at the edge: ours, and what the
        # handler has set (a cookie to clear).
        trailing = (*(context.trailing_metadata() or ()), *aborted.trailing)
        await context.abort(STATUS_CODES[aborted.code], aborted.message, trailing)


def _code_set_on(context: Any) -> int:
    """Return the code that a servicer which is not ours has set by itself; OK where none has."""
    code = context.code()
    return code.value[0] if isinstance(code, grpc.StatusCode) else code or OK


def _require_size(data: bytes, most: int) -> None:
    """Refuse a message, sent or to be sent, that is too large. gRPC's own limit lies beyond and gives no reason."""
    if len(data) > most:
        raise Refusal(Reason.REASON_MESSAGE_TOO_LARGE)


def _decode(data: bytes, decode: Callable[[bytes], Message], call: Call) -> Message:
    try:
        message = decode(data)
    except DecodeError:
        raise Refusal(Reason.REASON_MALFORMED_BODY) from None
    call.check(message)
    return message


async def _only_request(context: Any, call: Call) -> bytes:
    """Wait for the one request of a unary call, within its deadline."""
    async with bounded(call.deadline):
        data = await context.read()
    if data is grpc.aio.EOF:
        raise Refusal(Reason.REASON_MALFORMED_BODY)
    return data


async def _decoded(
    requests: AsyncIterator[bytes], decode: Callable[[bytes], Message], call: Call
) -> AsyncGenerator[Message, None]:
    async for data in requests:
        yield _decode(data, decode, call)


async def _write_all(answers: Any, context: Any, call: Call) -> None:
    """Write what a streaming handler yields. A servicer that writes for itself (health) is awaited instead."""
    if inspect.isawaitable(answers):
        await answers
        return
    async with aclosing(answers):
        while True:
            async with bounded(call.deadline):
                answer = await anext(answers, _END)
            if answer is _END:
                return
            async with bounded(call.deadline):
                await context.write(answer)


@asynccontextmanager
async def bounded(deadline: Deadline | None) -> AsyncIterator[None]:
    """Cut the block off when `deadline` passes, with REASON_DEADLINE_EXCEEDED. Its own TimeoutErrors pass unchanged."""
    limit = asyncio.timeout(deadline.remaining() if deadline else None)
    try:
        async with limit:
            yield
    except TimeoutError:
        if limit.expired():
            raise Refusal(Reason.REASON_DEADLINE_EXCEEDED) from None
        raise
