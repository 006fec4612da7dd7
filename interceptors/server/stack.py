"""THE order of server middleware, outermost first, with the reason for each place.

1. telemetry       sees every outcome, and gives the call the trace id that errors carry
2. status          turns whatever is raised further in into a status; nothing but telemetry may be outside of it
3. admission       sheds what is too much, at the least cost
4. deadline        limits all that follows, fetching the issuer's keys included
5. authentication  says who calls
6. access          refuses strangers before any of their input is decoded
7. validation      refuses messages that break their contract; then the handler runs

Health and reflection are the infrastructure's own: 1 and 2 only. They are open, since probes have no token, and since
the contract that reflection shows is published anyway; the edge routes to neither. They are let in under any load, or
a busy process would look like a dead one. They have no deadline of ours, because a health watch lives as long as its
client, and no validation, because their contracts are not ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import grpc
from google.protobuf.descriptor import ServiceDescriptor

from interceptors.server.access import access
from interceptors.server.admission import admission
from interceptors.server.authentication import TokenVerifier, authentication
from interceptors.server.chain import Chain, Middleware
from interceptors.server.deadline import deadline
from interceptors.server.status import status
from interceptors.server.telemetry import telemetry
from interceptors.server.validation import validation
from services.kernel.policy import Access, access_of, methods_of

INFRASTRUCTURE: Final = frozenset({"grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"})
DEFAULT_DEADLINE_SECONDS: Final = 30.0
DEFAULT_MAX_CALLS: Final = 256
DEFAULT_MAX_MESSAGE_BYTES: Final = 4_194_304


def server_stack(
    services: Iterable[ServiceDescriptor],
    verifier: TokenVerifier,
    *,
    default_deadline_seconds: float = DEFAULT_DEADLINE_SECONDS,
    max_calls: int = DEFAULT_MAX_CALLS,
    max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES,
) -> grpc.aio.ServerInterceptor:
    """Build the one interceptor of a server that serves `services`, at most `max_calls` calls at once.

    max_message_bytes: largest request, and largest answer of a method that gives one.
    Raises MissingPolicyError where a method of theirs has no access policy: such a process must not start.
    """
    policies = {name: access_of(method) for name, method in methods_of(services).items()}
    ours = middleware(verifier, policies, default_deadline_seconds, max_calls)
    infrastructure = ours[:2]

    def stack_of(method: str) -> Sequence[Middleware]:
        service = method.strip("/").partition("/")[0]
        return infrastructure if service in INFRASTRUCTURE else ours

    return Chain(stack_of, max_message_bytes)


def middleware(
    verifier: TokenVerifier, policies: Mapping[str, Access], default_deadline_seconds: float, max_calls: int
) -> tuple[Middleware, ...]:
    """List the middleware of our own services, outermost first. policies: wire name of a method → who may call."""
    return (
        telemetry(),
        status(),
        admission(max_calls),
        deadline(default_deadline_seconds),
        authentication(verifier, policies),
        access(policies),
        validation(),
    )
