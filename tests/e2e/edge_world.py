"""A real Envoy with a generated configuration, in front of a small gRPC server with a contract of its own."""

from __future__ import annotations

import asyncio
import datetime as dt
import io
import json
import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final

import aiohttp
import google.api
import grpc
from google.protobuf import any_pb2, message_factory
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1.health import aio as health  # pyright: ignore[reportAttributeAccessIssue] - not in its stubs
from grpc_tools import protoc
from multidict import CIMultiDictProxy
from yarl import URL

from services.cli.stack.certificate import ensure_certificates
from services.cli.stack.edge_replies import SECURITY_HEADERS
from services.cli.stack.edge_routes import read_rules
from services.cli.stack.envoy import Address, EdgeSettings, edge_config
from services.cli.stack.envoy_program import envoy_program

ROOT: Final = Path(__file__).resolve().parents[2]
SHELVES: Final = "canopy.portal.v1.ShelvesService"
TREES: Final = "canopy.persons.v1.TreesService"
FAILURES: Final = {
    "absent": (code_pb2.NOT_FOUND, "REASON_ENTITY_NOT_FOUND"),
    "stale": (code_pb2.ABORTED, "REASON_VERSION_STALE"),
    "busy": (code_pb2.UNAVAILABLE, "REASON_OPERATION_BUSY"),
    "flood": (code_pb2.RESOURCE_EXHAUSTED, "REASON_OVERLOADED"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back over HTTP."""

    status: int
    headers: CIMultiDictProxy[str]
    body: bytes

    def json(self) -> Any:
        """Read the body as JSON."""
        return json.loads(self.body)

    def is_hardened(self) -> bool:
        """Tell whether every security header is there, once, as it should be, and nothing of gRPC."""
        exact = all(self.headers.getall(name, []) == [value] for name, value in SECURITY_HEADERS.items())
        return exact and not any(name.lower().startswith(("grpc-", "x-envoy-")) for name in self.headers)


class Contract:
    """The messages of the small contract, in a pool of their own."""

    def __init__(self, descriptor_set: bytes) -> None:
        self.descriptor_set = descriptor_set
        self._pool = DescriptorPool()
        for file in FileDescriptorSet.FromString(descriptor_set).file:
            self._pool.Add(file)

    def message(self, name: str, **fields: Any) -> Any:
        """Build one of its messages by full name."""
        return message_factory.GetMessageClass(self._pool.FindMessageTypeByName(name))(**fields)


class Upstream:
    """Both services of the small contract. What a request names decides how it is answered."""

    def __init__(self, contract: Contract) -> None:
        self._contract = contract
        self.metadata: list[tuple[str, str]] = []
        self.calls: list[str] = []
        self.seconds_allowed: float | None = None

    def handlers(self) -> Iterable[grpc.GenericRpcHandler]:
        """Bind each method."""
        get, create = "canopy.portal.v1.GetShelfRequest", "canopy.portal.v1.CreateShelfRequest"
        move, raw = "canopy.portal.v1.MoveShelfRequest", "google.api.HttpBody"
        for service, methods in (
            (SHELVES, {"GetShelf": get, "CreateShelf": create, "MoveShelf": move, "PressBook": raw, "Unrouted": get}),
            (TREES, {"BatchGetTrees": create, "FellTree": create}),
        ):
            yield grpc.method_handlers_generic_handler(
                service, {method: self._handler(method, request) for method, request in methods.items()}
            )

    def _handler(self, method: str, request: str) -> grpc.RpcMethodHandler[Any, Any]:
        async def answer(message: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Message:
            self.calls.append(method)
            self.seconds_allowed = context.time_remaining()
            self.metadata = [(str(key), str(value)) for key, value in context.invocation_metadata() or ()]
            if method == "PressBook":
                return self._contract.message("google.api.HttpBody", content_type="text/plain", data=message.data)
            if getattr(message, "note_text", "") == "bare":
                await context.abort(grpc.StatusCode.INTERNAL, "Bare.")
            failure = FAILURES.get(getattr(message, "note_text", ""))
            if failure is not None:
                await _fail(context, *failure)
            await context.send_initial_metadata((("set-cookie", "__Host-a=1"), ("set-cookie", "__Host-b=2")))
            return self._contract.message(
                "canopy.portal.v1.Shelf",
                shelf_id=getattr(message, "shelf_id", ""),
                note_text=getattr(message, "note_text", ""),
                metadata_keys=sorted({key for key, _ in self.metadata}),
            )

        parse = type(self._contract.message(request)).FromString
        return grpc.unary_unary_rpc_method_handler(answer, parse, lambda reply: reply.SerializeToString())


async def _fail(context: grpc.aio.ServicerContext[Any, Any], code: int, reason: str) -> None:
    packed = any_pb2.Any()
    packed.Pack(error_details_pb2.ErrorInfo(reason=reason, domain="canopy"))
    status = status_pb2.Status(code=code, message="Refused.", details=[packed])
    trailers: list[tuple[str, str | bytes]] = [("grpc-status-details-bin", status.SerializeToString())]
    if code == code_pb2.UNAVAILABLE:
        trailers.append(("retry-after", "7"))
    known = next(known for known in grpc.StatusCode if known.value[0] == code)
    await context.abort(known, "Refused.", tuple(trailers))


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A running edge."""

    public: int
    """Port of the public listener."""
    staff: int
    """Port of the staff listener."""
    authority: Path
    upstream: Upstream
    contract: Contract
    access_log: Path
    session: aiohttp.ClientSession
    server: grpc.aio.Server

    async def stop_upstream(self) -> None:
        """End the services behind the edge, at once."""
        await self.server.stop(None)

    async def call(
        self,
        verb: str,
        path: str,
        *,
        staff: bool = False,
        body: Any = None,
        data: bytes | io.BytesIO | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """Send one request over TLS; `body` goes as JSON, `data` as it is."""
        sent = {"content-type": "application/json", **(headers or {})} if verb != "GET" else (headers or {})
        content = json.dumps(body).encode() if body is not None else data
        url = f"https://localhost:{self.staff if staff else self.public}{path}"
        async with self.session.request(verb, URL(url, encoded=True), data=content, headers=sent) as response:
            return Answer(status=response.status, headers=response.headers, body=await response.read())


def compile_contract(folder: Path) -> bytes:
    """Compile the small contract with the mesh's options; the result is a serialized FileDescriptorSet."""
    target = folder / "contract.binpb"
    sources = ROOT / "tests" / "e2e" / "edge_contract"
    google_apis = Path(next(iter(google.api.__path__))).parent.parent
    well_known = resources.files("grpc_tools") / "_proto"
    includes = [f"-I{path}" for path in (sources, ROOT / "protos", google_apis, well_known)]
    names = [str(path.relative_to(sources)) for path in sorted(sources.rglob("*.proto"))]
    assert protoc.main(["protoc", *includes, "--include_imports", f"--descriptor_set_out={target}", *names]) == 0
    return target.read_bytes()


@asynccontextmanager
async def running_edge(folder: Path) -> AsyncIterator[Edge]:
    """Start the server, then Envoy on free ports; end both at the close."""
    contract = Contract(compile_contract(folder))
    upstream = Upstream(contract)
    server = grpc.aio.server(handlers=tuple(upstream.handlers()), options=(("grpc.so_reuseport", 0),))
    checks = health.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(checks, server)
    await checks.set("", health_pb2.HealthCheckResponse.SERVING)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    certificates = ensure_certificates(folder / "tls", dt.datetime.now(dt.UTC))
    settings = EdgeSettings(
        public=Address(host="127.0.0.1", port=0),
        staff=Address(host="127.0.0.1", port=0),
        certificate=certificates.certificate,
        private_key=certificates.private_key,
        contract=folder / "contract.binpb",
        upstreams={name: Address(host="127.0.0.1", port=port) for name in ("portal", "persons", "applications")},
        admin=Path("admin.sock"),
        access_log=folder / "access.jsonl",
    )
    config = folder / "envoy.json"
    config.write_text(json.dumps(edge_config(settings, read_rules(contract.descriptor_set))))
    trust = ssl.create_default_context(cafile=str(certificates.authority))
    async with (
        _envoy(folder, config),
        aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=trust), cookie_jar=aiohttp.DummyCookieJar()
        ) as session,
    ):
        ports = await _ports(folder / "admin.sock")
        yield Edge(
            public=ports["public"],
            staff=ports["staff"],
            authority=certificates.authority,
            upstream=upstream,
            contract=contract,
            access_log=folder / "access.jsonl",
            session=session,
            server=server,
        )
    await server.stop(None)


@asynccontextmanager
async def _envoy(folder: Path, config: Path) -> AsyncIterator[None]:
    process = await asyncio.create_subprocess_exec(
        str(envoy_program()), "-c", str(config), "--disable-hot-restart", "--concurrency", "1", "-l", "info",
        cwd=folder, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    said = b""
    async with asyncio.timeout(30):
        while b"starting workers" not in said:
            line = await process.stderr.readline()
            assert line, said.decode()
            said += line
    drain = asyncio.create_task(process.stderr.read())
    try:
        yield
    finally:
        process.terminate()
        await process.wait()
        await drain


async def _ports(admin: Path) -> dict[str, int]:
    async with (
        aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(admin))) as session,
        session.get("http://admin/listeners?format=json") as response,
    ):
        listeners = json.loads(await response.read())["listener_statuses"]
    return {each["name"]: each["local_address"]["socket_address"]["port_value"] for each in listeners}
