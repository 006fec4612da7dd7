"""A real server and real channels on a free port, with the stacks on both sides."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2_grpc
from grpc_health.v1._async import HealthServicer

from canopy.errors.v1.reason_pb2 import Reason
from interceptors.client.policy import RetryPolicy
from interceptors.client.stack import client_stack
from interceptors.server.stack import server_stack
from services.kernel.caller import Caller
from services.kernel.errors import Refusal
from tests.probe import SERVICE, pb, rpc

PORTAL = Caller(subject="portal", service="canopy-portal", roles=frozenset({"service"}))
CALLERS: Mapping[str, Caller] = {
    "portal": PORTAL,
    "azp-only": Caller(subject="x", azp="canopy-portal"),
    "azp-service": Caller(subject="x", azp="canopy-portal", roles=frozenset({"service"})),
    "other-service": Caller(subject="o", service="canopy-other", roles=frozenset({"service"})),
    "steward": Caller(subject="s", roles=frozenset({"data_steward"})),
}


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
        async with grpc.aio.insecure_channel(self.address) as channel:
            yield rpc.ProbeServiceStub(channel)

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


Serve = Callable[..., AbstractAsyncContextManager[Wire]]


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    """A served probe that echoes."""
    async with served(Probe()) as running:
        yield running
