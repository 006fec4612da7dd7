"""THE order of client middleware, outermost first, with the reason for each place.

1. transaction_guard  a call inside a transaction is a fault: nothing may happen first
2. telemetry          sees every outcome, and starts the span that the other side continues
3. status             everything further in fails as a ClientError
4. deadline           limits all that follows: token, attempts, pauses
5. retry              sends again what may be sent again, with one idempotency key
6. credentials        a token for each attempt, since one may expire between two
"""

from __future__ import annotations

import grpc

from interceptors.client.chain import Middleware, interceptors
from interceptors.client.credentials import TokenSource, credentials
from interceptors.client.deadline import deadline
from interceptors.client.policy import OVERALL_SECONDS, RetryPolicy
from interceptors.client.retry import retry
from interceptors.client.status import client_error, status
from interceptors.client.telemetry import telemetry
from interceptors.client.transaction_guard import transaction_guard

__all__ = ["TokenSource", "client_stack", "middleware"]


def client_stack(
    service: str,
    tokens: TokenSource,
    *,
    overall_seconds: float = OVERALL_SECONDS,
    retry_policy: RetryPolicy | None = None,
) -> list[grpc.aio.ClientInterceptor]:
    """Build the interceptors of a channel to `service`, a service id and the audience of its tokens."""
    return interceptors(middleware(service, tokens, overall_seconds, retry_policy or RetryPolicy()), client_error)


def middleware(
    service: str, tokens: TokenSource, overall_seconds: float, retry_policy: RetryPolicy
) -> tuple[Middleware, ...]:
    """List the middleware, outermost first."""
    return (
        transaction_guard,
        telemetry,
        status,
        deadline(overall_seconds),
        retry(retry_policy),
        credentials(service, tokens),
    )
