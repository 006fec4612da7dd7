"""A real server and real channels on a free port, with the stacks on both sides; calls that must fail, and how."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2_grpc
from grpc_health.v1._async import HealthServicer

from canopy.errors.v1.reason_pb2 import Reason
from interceptors.client.policy import RetryPolicy
from interceptors.client.stack import client_stack
from interceptors.server.stack import server_stack
from services.kernel.caller import Caller
from services.kernel.errors import ClientError, ClientFailure, Refusal
from tests import mesh
from tests.probe import SERVICE, pb, rpc

PORTAL = Caller(subject="portal", service="canopy-portal", roles=frozenset({"service"}))
CALLERS: Mapping[str, Caller] = {
    "portal": PORTAL,
    "azp-only": Caller(subject="x", azp="canopy-portal"),
    "azp-service": Caller(subject="x", azp="canopy-portal", roles=frozenset({"service"})),
    "other-service": Caller(subject="o", service="canopy-other", roles=frozenset({"service"})),
    "steward": Caller(subject="s", roles=frozenset({"data_steward"})),
}
AS_PORTAL = (("authorization", "Bearer portal"),)  # metadata of a bare call


class Tokens:
    """Knows the callers above by name: verifies on the server's side, and hands out one name on the client's."""

    def __init__(self, name: str = "portal") -> None:
        self.name = name
        self.asked: list[str] = []

    async def verify(self, token: str) -> Caller:
        if token not in CALLERS:
            raise Refusal(Reason.REASON_UNAUTHENTICATED)
        return CALLERS[token]

    async def token(self, audience: str) -> str:
        self.asked.append(audience)
        return self.name


Behaviour = Callable[[Any, Any], Awaitable[Any]]


async def echo(request: Any, _context: Any) -> Any:
    return pb.Answer(word=request.word)


@dataclass
class Probe(rpc.ProbeServiceServicer):
    """Answers as its test says."""

    behave: Behaviour = echo
    stream: Callable[[Any, Any], AsyncIterator[Any]] | None = None

    async def Write(self, request: Any, context: Any) -> Any:
        return await self.behave(request, context)

    Read = Put = Open = Write

    async def List(self, request: Any, context: Any) -> AsyncIterator[Any]:
        assert self.stream is not None
        async for answer in self.stream(request, context):
            yield answer

    async def Collect(self, requests: AsyncIterator[Any], context: Any) -> Any:
        return pb.Answer(word="".join([request.word async for request in requests]))

    async def Chat(self, requests: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:
        async for request in requests:
            yield await self.behave(request, context)


@dataclass
class Wire:
    """A served Probe and its address."""

    probe: Probe
    address: str
    server: grpc.aio.Server

    @asynccontextmanager
    async def bare(self) -> AsyncIterator[Any]:
        """Open a stub without our client stack: what grpcurl would see."""
        async with self.bare_channel() as channel:
            yield rpc.ProbeServiceStub(channel)

    def bare_channel(self) -> grpc.aio.Channel:
        """Open a channel without our client stack, for requests that no stub would send."""
        return grpc.aio.insecure_channel(self.address)

    @asynccontextmanager
    async def stacked(self, tokens: Any = None, **knobs: Any) -> AsyncIterator[Any]:
        """Open a stub with the client stack, retrying without long pauses."""
        knobs.setdefault("retry_policy", RetryPolicy(base_seconds=0.001, most_seconds=0.002))
        stack = client_stack("canopy-probe", tokens or Tokens(), **knobs)
        async with grpc.aio.insecure_channel(self.address, interceptors=stack) as channel:
            yield rpc.ProbeServiceStub(channel)


@asynccontextmanager
async def served(probe: Probe, default_deadline_seconds: float = 30.0) -> AsyncIterator[Wire]:
    """Serve `probe`, and health, with the server stack."""
    stack = server_stack([SERVICE], Tokens(), default_deadline_seconds=default_deadline_seconds)
    server = grpc.aio.server(interceptors=[stack])
    rpc.add_ProbeServiceServicer_to_server(probe, server)
    health_pb2_grpc.add_HealthServicer_to_server(HealthServicer(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield Wire(probe, f"127.0.0.1:{port}", server)
    finally:
        await server.stop(None)


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    """A served probe that echoes."""
    async with served(Probe()) as running:
        yield running


class Script:
    """Fails by turns as told, then answers; remembers what came in."""

    def __init__(self, *failures: Any) -> None:
        self.failures = list(failures)
        self.metadata: list[dict[str, Any]] = []

    async def __call__(self, request: Any, context: Any) -> Any:
        self.metadata.append(dict(context.invocation_metadata()))
        match self.failures.pop(0) if self.failures else None:
            case None:
                return pb.Answer(word=request.word)
            case grpc.StatusCode() as code:
                return await context.abort(code)
            case failure:
                raise failure

    async def stream(self, request: Any, context: Any) -> AsyncIterator[Any]:
        yield await self(request, context)
        yield pb.Answer(word="second")


def busy(retry_after: float = 0.001) -> Refusal:
    return Refusal(Reason.REASON_OVERLOADED, retry_after=retry_after)


async def failed(call: Any, kind: ClientFailure) -> ClientError:
    """Await a call that must fail with `kind`."""
    with pytest.raises(ClientError) as caught:
        await call
    assert caught.value.kind is kind
    return caught.value


async def collected(stream: Any) -> list[str]:
    return [answer.word async for answer in stream]


def details_of(error: grpc.aio.AioRpcError) -> tuple[error_details_pb2.ErrorInfo, Any, Any]:
    """Read ErrorInfo, BadRequest and RetryInfo; empty messages for those that are not there."""
    info, bad, retry = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest(), error_details_pb2.RetryInfo()
    for detail in mesh.details_of(error):
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
