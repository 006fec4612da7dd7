"""What the edge lets through: which requests reach a service, and with which headers."""

from __future__ import annotations

import asyncio
import io
import ssl

import grpc
import pytest

from tests.e2e.edge_world import Edge

SHELF = "/v1/portal/shelves/s-1"
SHELVES = "/v1/portal/shelves"
# A gRPC message of zero bytes.
FRAME = b"\0\0\0\0\0"


def grpc_channel(edge: Edge, port: int) -> grpc.aio.Channel:
    """Dial a listener with the gRPC client, as a program of the staff would."""
    credentials = grpc.ssl_channel_credentials(edge.authority.read_bytes())
    return grpc.aio.secure_channel(f"localhost:{port}", credentials)


async def test_path_and_query_of_a_get_reach_the_method(edge: Edge) -> None:
    """MSH-11: REST comes from the contract: the path and the query fill the request, in either spelling."""
    for query in ("note_text=oak", "noteText=oak", "range.fromPage=3&noteText=oak", "range.from_page=3&noteText=oak"):
        answer = await edge.call("GET", f"{SHELF}?{query}")

        assert answer.status == 200
        assert answer.json()["shelfId"] == "s-1"
        assert answer.json()["noteText"] == "oak"


@pytest.mark.parametrize(
    "query",
    [
        "shelf_id=other",
        "shelfId=other",
        "shelf%5Fid=other",
        "noteText=a&shelf_id=other",
        "unknown=1",
        "note%5Ftext=a",
        "noteText,note_text=a",
    ],
)
async def test_query_that_names_a_path_field_or_an_unknown_one_is_refused(edge: Edge, query: str) -> None:
    """MSH-11: no query parameter overrides a path parameter, and none is silently dropped."""
    calls = len(edge.upstream.calls)

    answer = await edge.call("GET", f"{SHELF}?{query}")

    assert answer.status == 400
    assert answer.json()["message"] == "The query holds a parameter that this method does not take."
    assert len(edge.upstream.calls) == calls


async def test_query_of_a_post_is_refused(edge: Edge) -> None:
    """MSH-11: what is not a GET takes nothing from the query."""
    for path in (f"{SHELVES}?name=x", f"{SHELF}:move?shelf_id=other", f"{SHELF}:move?target=other"):
        assert (await edge.call("POST", path, body={})).status == 400


async def test_body_cannot_override_the_path(edge: Edge) -> None:
    """MSH-11: a path-bound field in the body is refused in the proto spelling and ignored in the JSON spelling."""
    refused = await edge.call("POST", f"{SHELF}:move", body={"shelf_id": "other"})
    ignored = await edge.call("POST", f"{SHELF}:move", body={"shelfId": "other"})

    assert refused.status == 400
    assert ignored.json()["shelfId"] == "s-1"


@pytest.mark.parametrize(
    ("path", "size", "status"),
    [(f"{SHELF}:move", 4000, 202), (f"{SHELF}:move", 4200, 413), (SHELVES, 1_000_000, 201), (SHELVES, 1_100_000, 413)],
)
async def test_body_is_limited_by_the_contract(edge: Edge, path: str, size: int, status: int) -> None:
    """MSH-11: the limit is the method's own where it declares one, else 1 MiB."""
    body = io.BytesIO(b'{"%s": "%s"}' % (b"target" if "move" in path else b"name", b"x" * size))

    answer = await edge.call("POST", path, data=body)

    assert answer.status == status
    if status == 413:
        assert answer.json()["details"][0]["reason"] == "REASON_MESSAGE_TOO_LARGE"


async def test_headers_that_are_too_large_are_refused_by_the_edge(edge: Edge) -> None:
    """MSH-11: a service would refuse them with a text that lists every header."""
    answer = await edge.call("GET", SHELVES, headers={"cookie": "x=" + "a" * 12_000})

    assert answer.status == 431
    assert answer.json()["message"] == "The headers are too large."


async def test_raw_body_reaches_the_method_byte_for_byte(edge: Edge) -> None:
    """MSH-11: a method that takes google.api.HttpBody parses the body itself, so the edge changes nothing of it."""
    body = b'{"a" : 1,  "a":2}'

    answer = await edge.call("POST", "/v1/portal/book:press", data=body)

    assert (answer.status, answer.body) == (200, body)


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""])
async def test_post_that_does_not_say_json_is_refused(edge: Edge, content_type: str) -> None:
    """MSH-11: a form of another site cannot post to us: only application/json is taken."""
    answer = await edge.call("POST", SHELVES, data=b"{}", headers={"content-type": content_type})

    assert answer.status == 415
    assert answer.json()["message"] == "The content type must be application/json."


async def test_json_content_type_may_name_its_charset(edge: Edge) -> None:
    """MSH-11: parameters of application/json are no reason to refuse."""
    headers = {"content-type": "Application/JSON; charset=utf-8"}

    assert (await edge.call("POST", SHELVES, body={}, headers=headers)).status == 201


@pytest.mark.parametrize("kind", ["application/grpc", "application/grpc+proto", "application/grpc-web"])
@pytest.mark.parametrize("path", [SHELVES, "/canopy.portal.v1.ShelvesService/GetShelf", "/nothing"])
async def test_grpc_on_the_public_listener_is_refused(edge: Edge, path: str, kind: str) -> None:
    """MSH-11: browsers speak JSON; gRPC is refused as such, and never by an answer that looks like success."""
    calls = len(edge.upstream.calls)

    answer = await edge.call("POST", path, data=FRAME, headers={"content-type": kind})

    assert answer.status == 415
    assert answer.json()["message"] == "The content type must be application/json."
    assert len(edge.upstream.calls) == calls


async def test_staff_listener_proxies_grpc_for_routed_methods_only(edge: Edge) -> None:
    """MSH-11: a program calls by gRPC what it could call by REST, and nothing else."""
    request = edge.contract.message("canopy.portal.v1.CreateShelfRequest")
    async with grpc_channel(edge, edge.staff) as channel:
        answer = await channel.unary_unary("/canopy.persons.v1.TreesService/BatchGetTrees")(
            request.SerializeToString(), timeout=30
        )
        with pytest.raises(grpc.aio.AioRpcError) as unrouted:
            await channel.unary_unary("/canopy.persons.v1.TreesService/FellTree")(b"", timeout=30)
        with pytest.raises(grpc.aio.AioRpcError) as internal:
            await channel.unary_unary("/canopy.portal.v1.ShelvesService/GetShelf")(b"", timeout=30)

    shelf = type(edge.contract.message("canopy.portal.v1.Shelf")).FromString(answer)
    assert "user-agent" in shelf.metadata_keys
    assert edge.upstream.seconds_allowed is not None
    assert edge.upstream.seconds_allowed <= 30
    assert unrouted.value.code() is internal.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert unrouted.value.details() == "There is nothing at this path for this method."


async def test_each_listener_serves_its_own_packages(edge: Edge) -> None:
    """MSH-11: the public listener knows the portal only, the staff listener the services behind it."""
    assert (await edge.call("POST", SHELVES, body={}, staff=True)).status == 404
    assert (await edge.call("POST", "/v1/trees:batchGet", body={})).status == 404
    assert (await edge.call("POST", "/v1/trees:batchGet", body={}, staff=True)).status == 200
    # JSON by the gRPC path is no way in either.
    assert (await edge.call("POST", "/canopy.portal.v1.ShelvesService/GetShelf", body={})).status == 404
    assert (await edge.call("POST", "/canopy.persons.v1.TreesService/FellTree", body={}, staff=True)).status == 404


async def test_headers_of_the_mesh_are_stripped(edge: Edge) -> None:
    """MSH-11: a client cannot say what only the mesh says, set a deadline, or choose its own address."""
    sent = {
        "x-canopy-principal": "root",
        "x-forwarded-for": "203.0.113.9",
        "x-envoy-external-address": "203.0.113.9",
        "grpc-timeout": "9S",
        "x-request-id": "chosen",
        "authorization": "Bearer t",
        "cookie": "__Host-sid=1",
        "traceparent": "00-11111111111111111111111111111111-2222222222222222-01",
    }
    await edge.call("GET", SHELF, headers=sent)
    public, public_seconds = dict(edge.upstream.metadata), edge.upstream.seconds_allowed
    await edge.call("POST", "/v1/trees:batchGet", body={}, staff=True, headers=sent)
    staff, staff_seconds = dict(edge.upstream.metadata), edge.upstream.seconds_allowed

    assert public_seconds is staff_seconds is None
    for reached in (public, staff):
        assert not {"x-canopy-principal", "x-envoy-original-path"} & reached.keys()
        assert "203.0.113.9" not in reached["x-forwarded-for"]
        assert reached["x-envoy-external-address"] == "127.0.0.1"
        assert reached["x-request-id"] != "chosen"
    assert public["cookie"] == "__Host-sid=1"
    assert not {"authorization", "traceparent"} & public.keys()
    assert staff["authorization"] == "Bearer t"
    assert "cookie" not in staff


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        (SHELF, {"under_score": "1"}, 400),
        (SHELF, {"wide": "x" * 40_000}, 431),
        (SHELF, {f"h{n}": "x" for n in range(80)}, 431),
        ("/v1/portal/shelves/a%2fb", {}, 400),
        ("/v1/portal/shelves/a%5Cb", {}, 400),
        ("/v1/portal/shelves/a:b", {}, 404),
        ("/v1/portal/shelves/../../../etc", {}, 404),
        ("//v1/portal/shelves/a", {}, 404),
    ],
)
async def test_ambiguous_or_oversized_request_is_refused(
    edge: Edge, path: str, headers: dict[str, str], status: int
) -> None:
    """MSH-11: what two programs could read in two ways never reaches a service."""
    calls = len(edge.upstream.calls)

    assert (await edge.call("GET", path, headers=headers)).status == status
    assert len(edge.upstream.calls) == calls


async def test_plain_http_is_refused(edge: Edge) -> None:
    """MSH-11: without TLS there is no answer at all, on either listener."""
    for port in (edge.public, edge.staff):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        async with asyncio.timeout(30):
            try:
                answer = await reader.read()
            except ConnectionResetError:
                answer = b""
        writer.close()

        assert b"HTTP/1.1" not in answer


async def test_request_that_is_no_http_gets_the_security_headers_too(edge: Edge) -> None:
    """MSH-11: even a broken request line is answered with our headers and our JSON."""
    trust = ssl.create_default_context(cafile=str(edge.authority))
    reader, writer = await asyncio.open_connection("localhost", edge.public, ssl=trust)
    writer.write(b"GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n")
    async with asyncio.timeout(30):
        answer = (await reader.read()).lower()
    writer.close()

    assert answer.startswith(b"http/1.1 400")
    assert b"\r\nstrict-transport-security: " in answer
    assert b'"message":"the request is not valid for this method."' in answer
