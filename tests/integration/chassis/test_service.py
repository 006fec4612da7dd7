"""A service in its process's life: what it refuses to start with, what it shows, how it drains."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import grpc
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind
from prometheus_client import CollectorRegistry

from canopy.errors.v1.reason_pb2 import Reason
from services.chassis.background import Worker
from services.chassis.server import BootError
from services.chassis.service import Running, Service, ServiceConfig, Servicer, serving
from tests.mesh import Mesh, details_of, reason_of, refused
from tests.probe import SERVICE, pb, rpc
from tests.probe.servicer import NAME, Probe, probe_service

BUF = Path(sys.executable).with_name("buf")
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


@pytest.fixture
def probe() -> Probe:
    return Probe()


@pytest.fixture
async def running(mesh: Mesh, probe: Probe) -> AsyncIterator[Running]:
    async with mesh.serve_alone(probe_service(probe)) as started:
        yield started


@pytest.fixture
async def plain(running: Running) -> AsyncIterator[grpc.aio.Channel]:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{running.port}") as channel:
        yield channel


async def get(running: Running, path: str) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{running.ops_port}{path}") as response,
    ):
        return response.status, await response.text()


async def test_call_between_services_carries_the_callers_identity(mesh: Mesh, running: Running) -> None:
    """MSH-03: the contract admits the portal; token, channel and server stack do the rest."""
    async with mesh.dial(running, NAME, caller="canopy-portal") as channel:
        answer = await rpc.ProbeServiceStub(channel).Write(pb.Ask())

    assert answer.word == "canopy-portal"


@pytest.mark.parametrize("client", ["canopy-persons", "test-no-role"])
async def test_call_of_one_whom_the_contract_does_not_name_is_refused(
    mesh: Mesh, running: Running, client: str
) -> None:
    """MSH-03: denied by default, whoever else the issuer knows."""
    async with mesh.dial(running, NAME, caller=client) as channel:
        with refused(Reason.REASON_CALLER_NOT_ALLOWED):
            await rpc.ProbeServiceStub(channel).Write(pb.Ask())


async def test_call_with_a_bad_token_is_refused_without_detail(mesh: Mesh, plain: grpc.aio.Channel) -> None:
    """MSH-06: over the wire, too, nothing says what was wrong with the token."""
    token = mesh.issuer.mint(mesh.issuer.claims("canopy-portal"))

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await rpc.ProbeServiceStub(plain).Write(pb.Ask(), metadata=[("authorization", f"Bearer {token}")])

    info = error_details_pb2.ErrorInfo()
    assert any(detail.Unpack(info) for detail in details_of(caught.value))
    assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
    assert caught.value.details() == "unauthenticated"
    assert info.reason == "REASON_UNAUTHENTICATED"


async def test_service_with_methods_without_policy_refuses_to_start_and_names_them(mesh: Mesh) -> None:
    """MSH-03: an RPC that the contract does not give to anyone is found before it can be called."""
    services = pb.DESCRIPTOR.services_by_name
    servicers = [
        Servicer(descriptor=services[name], add=lambda *_: None, implementation=object())
        for name in ("BareService", "ConfusedService")
    ]

    with pytest.raises(BootError) as caught:
        async with mesh.serve_alone(Service(name=NAME, servicers=servicers)):
            pass

    lines = str(caught.value).splitlines()
    assert [line.split(" ")[0].rstrip(":") for line in lines] == [
        "canopy.probe.v1.BareService.Forgotten",
        "canopy.probe.v1.ConfusedService.Both",
    ]


async def test_service_whose_port_is_taken_refuses_to_start(mesh: Mesh, running: Running) -> None:
    """OPS-05: two processes never share a port by accident."""
    sections = mesh.sections()
    sections["server"] = replace(sections["server"], port=running.port)

    with pytest.raises(BootError, match="cannot be listened on"):
        async with serving(probe_service(Probe()), ServiceConfig(**sections)):
            pass


async def test_health_is_serving_for_the_process_and_each_service(plain: grpc.aio.Channel) -> None:
    """MSH-10: probes ask without a token."""
    stub: Any = health_pb2_grpc.HealthStub(plain)

    for name in ("", SERVICE.full_name):
        answer = await stub.Check(health_pb2.HealthCheckRequest(service=name))
        assert answer.status == SERVING


async def test_drain_says_not_serving_finishes_old_calls_and_refuses_new_ones(mesh: Mesh, probe: Probe) -> None:
    """OPS-05: a call under way at SIGTERM gets its answer; the edge is told first; nothing new begins."""
    serve = mesh.serve_alone(probe_service(probe))
    running = await serve.__aenter__()
    probe.gate.clear()
    async with (
        mesh.dial(running, NAME, caller="canopy-portal") as channel,
        grpc.aio.insecure_channel(f"127.0.0.1:{running.port}") as plain,
    ):
        health: Any = health_pb2_grpc.HealthStub(plain)
        watch = health.Watch(health_pb2.HealthCheckRequest())
        assert (await watch.read()).status == SERVING
        call = asyncio.ensure_future(rpc.ProbeServiceStub(channel).Write(pb.Ask()))
        await probe.entered.wait()

        drain = asyncio.create_task(serve.__aexit__(None, None, None))
        assert (await watch.read()).status == NOT_SERVING
        assert (await get(running, "/readyz")) == (503, "serving: failed\nissuer_keys: ok\n")
        watch.cancel()
        await _until_refused(running.port)
        assert not call.done()
        probe.gate.set()

        assert (await call).word == "canopy-portal"
        await drain


async def _until_refused(port: int) -> None:
    """Call anew until the server takes no more calls."""
    while True:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as fresh:
            try:
                await rpc.ProbeServiceStub(fresh).Open(pb.Ask())
            except grpc.aio.AioRpcError as error:
                if error.code() is grpc.StatusCode.UNAVAILABLE:
                    return
                raise


async def test_reflection_lists_services_and_knows_the_error_details(plain: Any) -> None:
    """MSH-10: grpcurl and buf curl need no files, and can print the details of an error."""
    stub: Any = reflection_pb2_grpc.ServerReflectionStub(plain)
    requests = [
        reflection_pb2.ServerReflectionRequest(list_services=""),
        reflection_pb2.ServerReflectionRequest(file_containing_symbol="google.rpc.ErrorInfo"),
        reflection_pb2.ServerReflectionRequest(file_containing_symbol=SERVICE.full_name),
    ]

    answers = [answer async for answer in stub.ServerReflectionInfo(iter(requests))]

    listed = {service.name for service in answers[0].list_services_response.service}
    files = {
        FileDescriptorProto.FromString(file).name
        for answer in answers[1:]
        for file in answer.file_descriptor_response.file_descriptor_proto
    }
    assert listed == {SERVICE.full_name, "grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"}
    assert {"google/rpc/error_details.proto", "probe.proto"} <= files


async def buf_curl(*arguments: str) -> str:
    """Run `buf curl` as the documentation shows it; returns what it prints."""
    process = await asyncio.create_subprocess_exec(
        BUF, "curl", "--protocol", "grpc", "--http2-prior-knowledge", *arguments, stdout=PIPE, stderr=PIPE
    )
    printed, complaint = await process.communicate()
    assert process.returncode == 0, complaint.decode()
    return printed.decode()


async def test_buf_curl_lists_and_calls_with_a_token_and_no_files(mesh: Mesh, running: Running) -> None:
    """MSH-10: an engineer at a shell needs an address and a token."""
    url = f"http://127.0.0.1:{running.port}"
    token = mesh.issuer.mint(mesh.issuer.claims(NAME, service="canopy-portal"))

    listed = await buf_curl("--list-methods", url)
    answer = await buf_curl("-H", f"authorization: Bearer {token}", "-d", "{}", f"{url}/{SERVICE.full_name}/Write")

    assert f"{SERVICE.full_name}/Write" in listed.split()
    assert json.loads(answer) == {"word": "canopy-portal"}


async def test_calls_beyond_the_limit_are_shed_and_the_service_recovers(mesh: Mesh, probe: Probe) -> None:
    """MSH-17: too many calls at once are refused at the door, health is not; the ones inside are not harmed."""
    sections = mesh.sections()
    sections["server"] = replace(sections["server"], max_concurrent_rpcs=1)
    probe.gate.clear()
    async with (
        serving(probe_service(probe), ServiceConfig(**sections)) as running,
        mesh.dial(running, NAME, caller="canopy-portal") as channel,
        grpc.aio.insecure_channel(f"127.0.0.1:{running.port}") as plain,
    ):
        inside = asyncio.ensure_future(rpc.ProbeServiceStub(channel).Write(pb.Ask()))
        await probe.entered.wait()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await rpc.ProbeServiceStub(plain).Open(pb.Ask())
        health: Any = health_pb2_grpc.HealthStub(plain)
        busy = await health.Check(health_pb2.HealthCheckRequest())
        probe.gate.set()

        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert reason_of(caught.value) == "REASON_OVERLOADED"
        advice = error_details_pb2.RetryInfo()
        assert any(detail.Unpack(advice) for detail in details_of(caught.value))
        assert advice.retry_delay.seconds == 1
        assert busy.status == SERVING
        assert (await inside).word == "canopy-portal"
        assert (await rpc.ProbeServiceStub(plain).Open(pb.Ask(word="again"))).word == "again"


async def test_readyz_lists_checks_by_name_without_detail(mesh: Mesh, probe: Probe) -> None:
    """OPS-05: a probe learns which condition fails and nothing else; one that hangs counts as failed."""

    async def fails() -> None:
        raise RuntimeError("host=db password=hunter2")

    sections = mesh.sections()
    sections["ops"] = replace(sections["ops"], check_seconds=0.05)
    service = probe_service(probe, checks={"database": fails, "bus": asyncio.Event().wait})
    async with serving(service, ServiceConfig(**sections)) as running:
        status, text = await get(running, "/readyz")

    assert status == 503
    assert text.startswith("serving: ok\ndatabase: failed\nbus: failed\nissuer_keys: ")
    assert "hunter2" not in text


async def test_livez_fails_when_a_loop_has_ended(mesh: Mesh, probe: Probe) -> None:
    """OPS-05: a process whose background work died is restarted."""
    ran = asyncio.Event()

    async def work() -> None:
        ran.set()

    worker = Worker("loop", 60.0, work)
    async with mesh.serve_alone(probe_service(probe, workers=[worker])) as running:
        await ran.wait()
        alive = await get(running, "/livez")
        await worker.stop()
        dead = await get(running, "/livez")

    assert alive == (200, "ok\n")
    assert dead == (503, "failed\n")


async def test_metrics_show_calls_by_method(mesh: Mesh, probe: Probe, registry: CollectorRegistry) -> None:
    """OPS-03: Prometheus sees every method, and no label holds anything about a person or a token."""
    config = ServiceConfig(**mesh.sections())
    async with serving(probe_service(probe), config, registry=registry) as running:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{running.port}") as plain:
            await rpc.ProbeServiceStub(plain).Open(pb.Ask(word="Alma"))
        status, text = await get(running, "/metrics")

    assert status == 200
    labels = ('rpc_service="canopy.probe.v1.ProbeService"', 'rpc_method="Open"', 'rpc_grpc_status_code="0"')
    counted = [line for line in text.splitlines() if line.startswith("canopy_rpc_server_calls_")]
    assert any(all(label in line for label in labels) for line in counted)
    assert "Alma" not in text


async def test_call_and_callee_are_one_trace(mesh: Mesh, running: Running, spans: InMemorySpanExporter) -> None:
    """OPS-03: the server's span continues the client's, over the wire."""
    async with mesh.dial(running, NAME, caller="canopy-portal") as channel:
        await rpc.ProbeServiceStub(channel).Write(pb.Ask())

    finished = [span for span in spans.get_finished_spans() if span.name.endswith("/Write")]
    [server] = [span for span in finished if span.kind is SpanKind.SERVER]
    [client] = [span for span in finished if span.kind is SpanKind.CLIENT]
    assert client.context is not None
    assert server.context is not None
    assert server.parent is not None
    assert server.parent.span_id == client.context.span_id
    assert server.context.trace_id == client.context.trace_id
