"""The order of the client stack, and what can be told of its parts without a wire."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc import error_details_pb2, status_pb2

from canopy.errors.v1.reason_pb2 import Reason
from interceptors.client.chain import Call
from interceptors.client.policy import RetryPolicy
from interceptors.client.stack import middleware
from interceptors.client.status import certainly_refused, client_error, details_of
from interceptors.client.transaction_guard import CalledInTransactionError, transaction_guard
from services.kernel.errors import ClientFailure
from services.kernel.transaction import open_transaction


class NoTokens:
    """Never asked in these tests."""

    async def token(self, audience: str) -> str:
        raise AssertionError(audience)


def test_order_of_the_stack() -> None:
    """MSH-09: guard, telemetry, status, deadline, retry, credentials; each place has its reason."""
    stack: Any = middleware("canopy-persons", NoTokens(), 90.0, RetryPolicy())

    assert [each.__qualname__.partition(".")[0] for each in stack] == [
        "transaction_guard",
        "telemetry",
        "status",
        "deadline",
        "retry",
        "credentials",
    ]


def rpc_error(code: grpc.StatusCode, *details: Any, packed: bytes | None = None) -> grpc.aio.AioRpcError:
    status = status_pb2.Status(code=code.value[0])
    for detail in details:
        anything = AnyMessage()
        anything.Pack(detail)
        status.details.append(anything)
    value = status.SerializeToString() if packed is None else packed
    metadata = grpc.aio.Metadata(("grpc-status-details-bin", value))
    return grpc.aio.AioRpcError(code, grpc.aio.Metadata(), metadata)


def info(reason: str, domain: str = "canopy") -> error_details_pb2.ErrorInfo:
    return error_details_pb2.ErrorInfo(reason=reason, domain=domain, metadata={"field": "a"})


def test_details_are_read_with_reason_metadata_and_advice() -> None:
    """MSH-08: what the server packs, the client unpacks."""
    retry = error_details_pb2.RetryInfo()
    retry.retry_delay.FromMilliseconds(1500)
    details = details_of(rpc_error(grpc.StatusCode.UNAVAILABLE, info("REASON_OPERATION_BUSY"), retry))

    assert (details.reason, details.metadata, details.retry_after) == (
        Reason.REASON_OPERATION_BUSY,
        {"field": "a"},
        1.5,
    )


@pytest.mark.parametrize(
    "error",
    [
        rpc_error(grpc.StatusCode.ABORTED, info("REASON_OF_A_NEWER_RELEASE")),
        rpc_error(grpc.StatusCode.ABORTED, info("REASON_LEASE_LOST", domain="example.org")),
        rpc_error(grpc.StatusCode.ABORTED),
        rpc_error(grpc.StatusCode.ABORTED, packed=b"\xff\xff"),
        grpc.aio.AioRpcError(grpc.StatusCode.ABORTED, grpc.aio.Metadata(), grpc.aio.Metadata()),
    ],
    ids=["newer", "another's", "none", "unreadable", "bare"],
)
def test_reason_that_is_not_ours_is_unspecified_and_proves_nothing(error: grpc.aio.AioRpcError) -> None:
    """RUN-09: the kind follows from the code; that nothing happened, only from a reason of ours."""
    assert details_of(error).reason == Reason.REASON_UNSPECIFIED
    assert not certainly_refused(error)
    assert client_error(Call(method="/a/B", timeout=None), error).kind is ClientFailure.CONFLICT


@pytest.mark.parametrize("code", [code for code in grpc.StatusCode if code is not grpc.StatusCode.OK])
def test_every_code_has_a_kind(code: grpc.StatusCode) -> None:
    """RUN-09: the dispatch is exhaustive."""
    assert isinstance(client_error(Call(method="/a/B", timeout=None), rpc_error(code)).kind, ClientFailure)


async def test_guard_lets_calls_through_outside_of_transactions() -> None:
    """FIN-07: inside one it raises before anything is sent; outside it does nothing."""
    sent: list[int] = []

    async def send() -> str:
        sent.append(1)
        return "answer"

    call = Call(method="/a/B", timeout=None)
    token = open_transaction.set("claim")
    try:
        with pytest.raises(CalledInTransactionError, match="claim"):
            await transaction_guard(call, send)
    finally:
        open_transaction.reset(token)
    assert not sent
    assert await transaction_guard(call, send) == "answer"


def test_token_does_not_show_in_the_calls_text() -> None:
    """MSH-06: a call can be logged or fail an assertion without showing its credentials."""
    call = Call(method="/a/B", timeout=None)
    call.metadata["authorization"] = "Bearer abc"

    assert "abc" not in repr(call)
