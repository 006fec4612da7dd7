"""Messages that are too large, in either direction, are refused with a reason (MSH-08, MSH-17)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import grpc
import pytest

from canopy.errors.v1.reason_pb2 import Reason
from services.chassis.service import ServiceConfig, serving
from tests.mesh import Mesh, refused
from tests.probe import pb, rpc
from tests.probe.servicer import Probe, probe_service

MOST = 2_000


class Verbose(Probe):
    """Answers at the length that it is asked for."""

    async def Open(self, request: Any, context: Any) -> Any:
        return pb.Answer(word="x" * int(request.word))


@pytest.fixture
async def stub(mesh: Mesh) -> AsyncIterator[Any]:
    """The public method of a service whose messages have at most 2,000 bytes."""
    sections = mesh.sections()
    sections["server"] = replace(sections["server"], max_message_bytes=MOST)
    async with (
        serving(probe_service(Verbose()), ServiceConfig(**sections)) as running,
        grpc.aio.insecure_channel(f"127.0.0.1:{running.port}") as channel,
    ):
        yield rpc.ProbeServiceStub(channel)


async def test_an_answer_within_the_limit_arrives(stub: Any) -> None:
    """MSH-17: the limit is the message's own size, not something near it."""
    assert len((await stub.Open(pb.Ask(word="1900"))).word) == 1_900


async def test_an_answer_beyond_the_limit_says_so(stub: Any) -> None:
    """MSH-08: the caller learns that it must ask for less, and not that something is wrong with us."""
    with refused(Reason.REASON_MESSAGE_TOO_LARGE):
        await stub.Open(pb.Ask(word="2100"))


async def test_a_request_beyond_the_limit_says_so(stub: Any) -> None:
    """MSH-08: gRPC itself would answer without a reason; it does so only at twice the limit."""
    with refused(Reason.REASON_MESSAGE_TOO_LARGE):
        await stub.Open(pb.Ask(word="0" * (MOST + 1)))
