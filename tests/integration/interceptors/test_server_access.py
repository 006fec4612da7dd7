"""Server stack, callers: who is let in, by token, by contract and without either."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from canopy.errors.v1.reason_pb2 import Reason
from interceptors.server.stack import server_stack
from services.kernel import caller, deadline
from services.kernel.policy import MissingPolicyError
from tests.integration.interceptors.conftest import (
    AS_PORTAL,
    PORTAL,
    Probe,
    Tokens,
    Wire,
    details_of,
    refused,
)
from tests.probe import pb, rpc


async def test_admitted_service_is_answered_with_caller_and_deadline_in_reach(wire: Wire) -> None:
    """MSH-03: the named service passes; caller and deadline are readable in the handler."""
    seen: list[Any] = []

    async def behave(request: Any, _context: Any) -> Any:
        current = deadline.current()
        assert current is not None
        seen.extend([caller.current(), current.remaining()])
        return pb.Answer(word=request.word)

    wire.probe.behave = behave
    async with wire.bare() as stub:
        answer = await stub.Write(pb.Ask(word="hello"), metadata=AS_PORTAL, timeout=10)

    assert answer.word == "hello"
    assert seen[0] == PORTAL
    assert seen[1] <= 10 - 0.02


@pytest.mark.parametrize(
    "metadata",
    [(), (("authorization", "Basic portal"),), (("authorization", "Bearer "),), (("authorization", "Bearer nobody"),)],
)
async def test_call_without_a_good_token_is_unauthenticated(wire: Wire, metadata: Any) -> None:
    """MSH-06: no token, another scheme, an empty or an unknown one: the same refusal, without detail."""
    async with wire.bare() as stub:
        error = await refused(stub.Write(pb.Ask(), metadata=metadata), Reason.REASON_UNAUTHENTICATED)

    assert error.code() is grpc.StatusCode.UNAUTHENTICATED
    info, bad, _ = details_of(error)
    assert set(info.metadata) == {"trace_id"}
    assert not bad.field_violations


@pytest.mark.parametrize("token", ["azp-only", "other-service", "steward"])
async def test_caller_that_the_contract_does_not_name_is_denied(wire: Wire, token: str) -> None:
    """MSH-04: an id that matches by azp alone proves nothing; other services and people are not on the list."""
    async with wire.bare() as stub:
        call = stub.Write(pb.Ask(), metadata=(("authorization", f"Bearer {token}"),))
        error = await refused(call, Reason.REASON_CALLER_NOT_ALLOWED)

    assert error.code() is grpc.StatusCode.PERMISSION_DENIED


async def test_service_by_role_may_be_named_by_its_azp(wire: Wire) -> None:
    """MSH-04: with the service role, service_id() may fall back to azp."""
    async with wire.bare() as stub:
        answer = await stub.Write(pb.Ask(word="a"), metadata=(("authorization", "Bearer azp-service"),))

    assert answer.word == "a"


async def test_role_of_a_person_admits_where_the_contract_names_it(wire: Wire) -> None:
    """MSH-05: a data steward passes where the method says so."""
    async with wire.bare() as stub:
        assert await stub.Read(pb.Ask(), metadata=(("authorization", "Bearer steward"),)) is not None


async def test_public_method_ignores_a_stale_token(wire: Wire) -> None:
    """MSH-03: a public method asks for no token and does not look at one."""
    async with wire.bare() as stub:
        assert (await stub.Open(pb.Ask(word="a"))).word == "a"
        assert (await stub.Open(pb.Ask(word="b"), metadata=(("authorization", "Bearer nobody"),))).word == "b"


async def test_stranger_learns_nothing_from_a_broken_message(wire: Wire) -> None:
    """MSH-03: access is decided before the message is looked at."""
    async with wire.bare() as stub:
        broken = pb.Ask(word="x" * 21)
        await refused(stub.Write(broken), Reason.REASON_UNAUTHENTICATED)
        await refused(
            stub.Write(broken, metadata=(("authorization", "Bearer other-service"),)), Reason.REASON_CALLER_NOT_ALLOWED
        )
        await refused(stub.Write(broken, metadata=AS_PORTAL), Reason.REASON_INVALID_FIELD)


async def test_health_is_open_and_keeps_its_own_statuses(wire: Wire) -> None:
    """MSH-10: probes need no token; what the health service answers is passed on as it is."""
    async with grpc.aio.insecure_channel(wire.address) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        answer = await stub.Check(health_pb2.HealthCheckRequest())
        watch = stub.Watch(health_pb2.HealthCheckRequest())
        first = await watch.read()
        watch.cancel()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.Check(health_pb2.HealthCheckRequest(service="nobody"))

    assert answer.status == first.status == health_pb2.HealthCheckResponse.SERVING
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND


async def test_method_without_a_policy_admits_nobody() -> None:
    """MSH-03: deny by default, even if a service is added behind the stack's back."""
    stack = server_stack([], Tokens())
    server = grpc.aio.server(interceptors=[stack])
    rpc.add_ProbeServiceServicer_to_server(Probe(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub = rpc.ProbeServiceStub(channel)
        await refused(stub.Open(pb.Ask()), Reason.REASON_UNAUTHENTICATED)
        await refused(stub.Open(pb.Ask(), metadata=AS_PORTAL), Reason.REASON_CALLER_NOT_ALLOWED)
    await server.stop(None)


@pytest.mark.parametrize("service", ["BareService", "ConfusedService"])
def test_contract_without_a_clear_policy_cannot_be_served(service: str) -> None:
    """MSH-03: start-up fails where a method has no access policy, or a contradictory one."""
    with pytest.raises(MissingPolicyError, match=service):
        server_stack([pb.DESCRIPTOR.services_by_name[service]], Tokens())
