"""Channels to other services, with the client interceptor stack."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import grpc

from interceptors.client.stack import TokenSource, client_stack
from services.chassis.config import knob


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """How one other service is called."""

    target: str = knob(doc="Where it listens: host:port, or a gRPC target such as dns:///name:port.", lo=3, hi=1_024)
    overall_seconds: float = knob(
        90.0, lo=0.1, hi=600, unit="s", doc="One deadline over token, sending, body and decoding, retries included."
    )
    max_message_bytes: int = knob(
        4_194_304, lo=1_024, hi=67_108_864, unit="bytes", doc="Largest message sent or taken."
    )


@asynccontextmanager
async def dial(config: ClientConfig, service: str, tokens: TokenSource) -> AsyncIterator[grpc.aio.Channel]:
    """Open a channel to the service with id `service`, which is also the audience of its tokens. Connects lazily."""
    stack = client_stack(service, tokens, overall_seconds=config.overall_seconds)
    async with grpc.aio.insecure_channel(config.target, options=_options(config), interceptors=stack) as channel:
        yield channel


def _options(config: ClientConfig) -> list[tuple[str, int | str]]:
    return [
        ("grpc.max_receive_message_length", config.max_message_bytes),
        ("grpc.max_send_message_length", config.max_message_bytes),
        ("grpc.keepalive_time_ms", 10_000),
        ("grpc.keepalive_timeout_ms", 3_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.min_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 2_000),
        ("grpc.lb_policy_name", "round_robin"),  # a target may resolve to several replicas
        ("grpc.enable_retries", 0),  # interceptors/client/retry.py decides, by the contract
        ("grpc.enable_http_proxy", 0),
    ]
