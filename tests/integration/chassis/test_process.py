"""A service as a real process: exit statuses, SIGTERM, log lines, and traces that leave it."""

from __future__ import annotations

import json
import signal
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc

from services.chassis.service import EXIT_BOOT, EXIT_CONFIG
from tests.mesh import Mesh
from tests.probe import pb, rpc
from tests.probe.servicer import NAME
from tests.processes import environ_of, failed_start, running_process, until

PROBE = "tests.probe.process"
TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
TRACEPARENT = f"00-{TRACE_ID}-b7ad6b7169203331-01"


def probe_environ(mesh: Mesh, **knobs: object) -> dict[str, str]:
    return environ_of("CANOPY_PROBE", issuer__url=mesh.issuer.url, **knobs)


async def test_start_with_a_bad_environment_lists_all_that_is_wrong(mesh: Mesh) -> None:
    """OPS-01: exit status 78, one line a violation, no traceback."""
    code, said = await failed_start(
        PROBE, probe_environ(mesh, server__port="http", ops__prot="1", issuer__leeway_seconds="600")
    )

    assert code == EXIT_CONFIG
    assert said.splitlines() == [
        "CANOPY_PROBE__SERVER__PORT: must be a whole number",
        "CANOPY_PROBE__ISSUER__LEEWAY_SECONDS: must be 0 to 60",
        "CANOPY_PROBE__OPS__PROT: no such knob",
    ]


async def test_start_on_a_taken_port_says_so(mesh: Mesh) -> None:
    """OPS-05: exit status 70 and one line, no traceback."""
    taken = mesh.issuer.url.rpartition(":")[2]

    code, said = await failed_start(PROBE, probe_environ(mesh, server__port=taken))

    assert code == EXIT_BOOT
    assert said.splitlines()[-1] == f"127.0.0.1:{taken} cannot be listened on"
    assert "Traceback" not in said


async def test_start_with_an_unknown_failpoint_is_refused(mesh: Mesh) -> None:
    """FIN-26: a misspelt failpoint is not silently ignored."""
    code, said = await failed_start(PROBE, {**probe_environ(mesh), "CANOPY_FAILPOINTS": "nowhere=kill"})

    assert code == EXIT_CONFIG
    assert "Traceback" not in said


async def test_sigterm_drains_and_exits_with_zero(mesh: Mesh) -> None:
    """OPS-05: a process that is told to stop ends by itself."""
    async with running_process(PROBE, probe_environ(mesh)) as (process, _):
        process.send_signal(signal.SIGTERM)
        await until(process, "draining")

        assert await process.wait() == 0


async def test_log_lines_carry_the_trace_and_no_token(mesh: Mesh) -> None:
    """OPS-03: one search by trace id finds the lines of a call in every service; credentials are in none."""
    claims = mesh.issuer.claims(NAME, service="canopy-portal")
    good, bad = mesh.issuer.mint(claims), mesh.issuer.mint({**claims, "aud": "elsewhere"})
    async with (
        running_process(PROBE, probe_environ(mesh)) as (process, running),
        grpc.aio.insecure_channel(f"127.0.0.1:{running.port}") as channel,
    ):
        stub = rpc.ProbeServiceStub(channel)
        await stub.Write(pb.Ask(), metadata=[("authorization", f"Bearer {good}"), ("traceparent", TRACEPARENT)])
        written = await until(process, "probe written")
        with pytest.raises(grpc.aio.AioRpcError):
            await stub.Write(pb.Ask(), metadata=[("authorization", f"Bearer {bad}"), ("traceparent", TRACEPARENT)])
        process.send_signal(signal.SIGTERM)
        _, rest = await process.communicate()

    lines = [written, *(json.loads(line) for line in rest.splitlines())]
    [refusal] = [line for line in lines if line["event"] == "token refused"]
    for line in (written, refusal):
        assert line["trace_id"] == TRACE_ID
        assert len(line["span_id"]) == 16
        assert line["service"] == NAME
        assert line["level"] == "INFO"
    assert refusal["rule"] == "InvalidAudienceError"
    for secret in (good, bad, *good.split(".")[1:], *bad.split(".")[1:]):
        assert secret not in json.dumps(lines)


class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    """An OTLP collector that keeps what it gets."""

    def __init__(self) -> None:
        self.requests: list[Any] = []

    async def Export(self, request: Any, context: Any) -> Any:
        self.requests.append(request)
        return trace_service_pb2.ExportTraceServiceResponse()


async def test_traces_reach_the_collector_before_the_process_ends(mesh: Mesh) -> None:
    """OPS-03: spans go to the configured OTLP endpoint, the last ones at the drain."""
    collector = Collector()
    server = grpc.aio.server()
    trace_service_pb2_grpc.add_TraceServiceServicer_to_server(collector, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    environ = probe_environ(mesh, telemetry__otlp_endpoint=f"http://127.0.0.1:{port}")

    async with (
        running_process(PROBE, environ) as (process, running),
        grpc.aio.insecure_channel(f"127.0.0.1:{running.port}") as channel,
    ):
        await rpc.ProbeServiceStub(channel).Open(pb.Ask(word="Alma"), metadata=[("traceparent", TRACEPARENT)])
        process.send_signal(signal.SIGTERM)
        await process.communicate()
    await server.stop(None)

    [resource] = [resource for request in collector.requests for resource in request.resource_spans]
    [span] = [span for scope in resource.scope_spans for span in scope.spans]
    assert span.trace_id.hex() == TRACE_ID
    assert span.name == "canopy.probe.v1.ProbeService/Open"
    attributes = {attribute.key: attribute.value.string_value for attribute in resource.resource.attributes}
    assert attributes == {"service.name": NAME, "service.namespace": "canopy"}
    assert b"Alma" not in resource.SerializeToString()
