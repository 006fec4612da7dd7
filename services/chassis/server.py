"""The gRPC server of a process: the interceptor stack, health, reflection, limits, boot checks and drain."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from google.rpc import error_details_pb2  # noqa: F401  # pyright: ignore[reportUnusedImport] -- reflection then knows it
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1.health import aio as health  # pyright: ignore[reportAttributeAccessIssue] -- not in its stubs
from grpc_reflection.v1alpha import reflection

from services.chassis.config import knob
from services.kernel import policy

_PING_INTERVAL_MS: Final = 5_000  # less than the clients' keepalive time, or they are sent away

# For health checks, and for saying no with a reason; beyond it gRPC itself sheds, without one.
_ROOM_BEYOND_THE_LIMIT: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerConfig:
    """How a process listens."""

    host: str = knob("127.0.0.1", doc="Address that the service listens on.")
    port: int = knob(doc="Port of the service; 0 takes any free one.", lo=0, hi=65_535)
    max_message_bytes: int = knob(
        4_194_304, lo=1_024, hi=67_108_864, unit="bytes", doc="Largest message taken or sent."
    )
    max_concurrent_rpcs: int = knob(
        256, lo=1, hi=100_000, unit="calls", doc="Calls at once; those beyond are told to come again."
    )
    default_deadline_seconds: float = knob(
        30.0, lo=0.1, hi=600, unit="s", doc="Deadline of a call that arrives without one."
    )
    drain_seconds: float = knob(
        5.0,
        lo=0,
        hi=300,
        unit="s",
        doc="Time between NOT_SERVING and refusing new calls: two health intervals.",
    )
    grace_seconds: float = knob(20.0, lo=0, hi=600, unit="s", doc="Time that calls under way get to finish.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Servicer:
    """One gRPC service to serve: its descriptor, the generated `add_…_to_server`, and the implementation."""

    descriptor: ServiceDescriptor
    add: Callable[[Any, grpc.aio.Server], None]
    implementation: object

    @classmethod
    def of(cls, messages: ModuleType, stubs: ModuleType, implementation: object) -> Servicer:
        """Serve the one service of a proto file. messages, stubs: what was generated from it, …_pb2 and …_pb2_grpc."""
        [descriptor] = messages.DESCRIPTOR.services_by_name.values()
        add = getattr(stubs, f"add_{descriptor.name}Servicer_to_server")
        return cls(descriptor=descriptor, add=add, implementation=implementation)


class BootError(Exception):
    """The process must not serve; the text says why, one line a cause."""


def require_policies(servicers: Sequence[Servicer]) -> None:
    """Check that the contract says who may call every served method. Raises BootError naming all that lack it."""
    missing: list[str] = []
    for servicer in servicers:
        for method in servicer.descriptor.methods:
            try:
                policy.access_of(method)
            except policy.MissingPolicyError as error:
                missing.append(str(error))
    if missing:
        raise BootError("\n".join(missing))


@asynccontextmanager
async def serve_grpc(
    config: ServerConfig, servicers: Sequence[Servicer], interceptors: Sequence[grpc.aio.ServerInterceptor]
) -> AsyncIterator[int]:
    """Serve; yields the bound port. Raises BootError when it cannot be bound.

    At the end health says NOT_SERVING while calls are still taken for `drain_seconds`, so that the edge can notice;
    then new calls are refused and those under way get `grace_seconds`.
    """
    server = grpc.aio.server(
        interceptors=interceptors,
        options=_options(config),
        maximum_concurrent_rpcs=config.max_concurrent_rpcs + _ROOM_BEYOND_THE_LIMIT,
    )
    for servicer in servicers:
        servicer.add(servicer.implementation, server)
    status = await _add_health_and_reflection(server, [servicer.descriptor.full_name for servicer in servicers])
    try:
        port = server.add_insecure_port(f"{config.host}:{config.port}")
    except RuntimeError:
        raise BootError(f"{config.host}:{config.port} cannot be listened on") from None
    await server.start()
    try:
        yield port
        await status.enter_graceful_shutdown()
        await asyncio.sleep(config.drain_seconds)
    finally:
        await server.stop(config.grace_seconds)


async def _add_health_and_reflection(server: grpc.aio.Server, names: list[str]) -> health.HealthServicer:
    status = health.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(status, server)
    for name in ("", *names):
        await status.set(name, health_pb2.HealthCheckResponse.SERVING)
    health_name = health_pb2.DESCRIPTOR.services_by_name["Health"].full_name
    reflection.enable_server_reflection([*names, health_name, reflection.SERVICE_NAME], server)
    return status


def _options(config: ServerConfig) -> list[tuple[str, int]]:
    return [
        ("grpc.so_reuseport", 0),  # on by default, it lets two servers share a port by accident
        # The stack refuses what is larger than the knob, with a reason; gRPC does beyond twice that, without one.
        ("grpc.max_receive_message_length", 2 * config.max_message_bytes),
        ("grpc.max_send_message_length", 2 * config.max_message_bytes),
        ("grpc.max_metadata_size", 16_384),  # twice what the edge lets through
        ("grpc.absolute_max_metadata_size", 32_768),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", _PING_INTERVAL_MS),
    ]
