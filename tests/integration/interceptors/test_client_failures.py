"""Client stack, failures: the kind and reason that a caller decides by, and whether anything may have happened."""

from __future__ import annotations

from typing import Any

import grpc
import pytest

from canopy.errors.v1.reason_pb2 import Reason
from interceptors.client.stack import client_stack
from interceptors.client.transaction_guard import CalledInTransactionError
from services.kernel.errors import ClientError, ClientFailure, Refusal
from services.kernel.tally import tally
from services.kernel.transaction import open_transaction
from tests.integration.interceptors.conftest import (
    Probe,
    Script,
    Tokens,
    Wire,
    collected,
    failed,
    served,
)
from tests.probe import pb


@pytest.mark.parametrize(
    ("failure", "kind", "may_have_happened"),
    [
        (Refusal(Reason.REASON_DRAFT_NOT_FOUND), ClientFailure.NOT_FOUND, False),
        (Refusal(Reason.REASON_GENERATION_ABSENT), ClientFailure.CONFLICT, False),
        (Refusal(Reason.REASON_STEP_UNKNOWN, field="steps[0]"), ClientFailure.UNPROCESSABLE, False),
        (Refusal(Reason.REASON_RELEASE_BLOCKED), ClientFailure.UNPROCESSABLE, False),
        (Refusal(Reason.REASON_CREDENTIALS_NOT_ACCEPTED), ClientFailure.AUTH, False),
        (Refusal(Reason.REASON_NOT_IMPLEMENTED), ClientFailure.CONTRACT, False),
        (Refusal(Reason.REASON_COMMIT_UNKNOWN), ClientFailure.TRANSIENT_EXHAUSTED, True),
        (Refusal(Reason.REASON_DEADLINE_EXCEEDED), ClientFailure.OVERALL_TIMEOUT, True),
        (Refusal(Reason.REASON_INTERNAL), ClientFailure.CONTRACT, True),
    ],
)
async def test_refusal_arrives_as_kind_and_reason(
    wire: Wire, failure: Refusal, kind: ClientFailure, may_have_happened: bool
) -> None:
    """RUN-09: every refusal of the catalogue has a kind to decide by, and its reason and metadata survive the wire."""
    wire.probe.behave = Script(failure)
    async with wire.stacked() as stub:
        error = await failed(stub.Write(pb.Ask()), kind)

    assert error.reason == failure.reason
    assert error.may_have_happened is may_have_happened
    assert failure.metadata.items() <= error.metadata.items()
    assert error.method == "/canopy.probe.v1.ProbeService/Write"


async def test_refusal_after_an_uncertain_attempt_stays_uncertain(wire: Wire) -> None:
    """FIN-22: the first attempt may have done it, whatever the second one says."""
    wire.probe.behave = Script(grpc.StatusCode.UNAVAILABLE, Refusal(Reason.REASON_VERSION_STALE))
    async with wire.stacked() as stub:
        error = await failed(stub.Put(pb.Ask()), ClientFailure.CONFLICT)

    assert error.may_have_happened


class LastToken(Tokens):
    """An issuer that stops answering after the first token."""

    async def token(self, audience: str) -> str:
        if self.asked:
            raise ClientError(ClientFailure.TRANSIENT_EXHAUSTED, method="token", code=14, may_have_happened=False)
        return await super().token(audience)


async def test_token_that_cannot_be_had_for_a_retry_leaves_the_first_attempt_uncertain(wire: Wire) -> None:
    """FIN-22: the second attempt was never sent, but the first one was."""
    wire.probe.behave = Script(grpc.StatusCode.UNAVAILABLE)
    async with wire.stacked(LastToken()) as stub:
        error = await failed(stub.Put(pb.Ask()), ClientFailure.TRANSIENT_EXHAUSTED)

    assert error.method == "token"
    assert error.may_have_happened


async def test_call_without_our_details_proves_nothing(wire: Wire) -> None:
    """FIN-22: a bare code may come from a proxy after the fact."""
    wire.probe.behave = Script(grpc.StatusCode.ABORTED)
    async with wire.stacked() as stub:
        error = await failed(stub.Write(pb.Ask()), ClientFailure.CONFLICT)

    assert error.may_have_happened
    assert error.reason == Reason.REASON_UNSPECIFIED


async def test_nobody_at_the_address_is_transient() -> None:
    """RUN-09: a dead server is TransientExhausted after its attempts."""
    async with served(Probe()) as wire:
        await wire.server.stop(None)
        async with wire.stacked() as stub:
            with tally() as counted:
                await failed(stub.Read(pb.Ask()), ClientFailure.TRANSIENT_EXHAUSTED)

    assert counted.rpcs == 4


async def test_call_inside_a_transaction_is_a_fault_of_the_program(wire: Wire) -> None:
    """FIN-07: neither a token is fetched nor anything sent while a database transaction is open."""
    wire.probe.behave = script = Script()
    wire.probe.stream = script.stream
    tokens = Tokens()
    token = open_transaction.set("record_person")
    try:
        async with wire.stacked(tokens) as stub:
            with pytest.raises(CalledInTransactionError, match="record_person"):
                await stub.Write(pb.Ask())
            with pytest.raises(CalledInTransactionError, match="record_person"):
                await collected(stub.List(pb.Ask()))
    finally:
        open_transaction.reset(token)

    assert not script.metadata
    assert not tokens.asked


async def test_answer_of_another_shape_is_a_decode_failure(wire: Wire) -> None:
    """RUN-09: what cannot be decoded is Decode, for unary and streaming answers."""

    def broken(_data: bytes) -> Any:
        raise ValueError("not a message")

    wire.probe.behave = script = Script()
    wire.probe.stream = script.stream
    async with grpc.aio.insecure_channel(wire.address, interceptors=client_stack("canopy-probe", Tokens())) as channel:
        path, encode = "/canopy.probe.v1.ProbeService/", pb.Ask.SerializeToString
        await failed(channel.unary_unary(f"{path}Write", encode, broken)(pb.Ask()), ClientFailure.DECODE)
        await failed(collected(channel.unary_stream(f"{path}List", encode, broken)(pb.Ask())), ClientFailure.DECODE)


async def test_answer_above_the_limit_is_a_decode_failure(wire: Wire) -> None:
    """MSH-07: the byte cap on a body is the channel's; breaking it is no overload."""

    async def behave(_request: Any, _context: Any) -> Any:
        return pb.Answer(word="x" * 2000)

    wire.probe.behave = behave
    stack, options = client_stack("canopy-probe", Tokens()), [("grpc.max_receive_message_length", 1000)]
    async with grpc.aio.insecure_channel(wire.address, options=options, interceptors=stack) as channel:
        path = "/canopy.probe.v1.ProbeService/Write"
        call = channel.unary_unary(path, pb.Ask.SerializeToString, pb.Answer.FromString)(pb.Ask())
        error = await failed(call, ClientFailure.DECODE)

    assert error.may_have_happened
