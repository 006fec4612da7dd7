"""What the edge answers: statuses, the one JSON error shape, headers, and what it logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.edge_world import Edge, running_edge

SHELF = "/v1/portal/shelves/s-1"
SHELVES = "/v1/portal/shelves"


@pytest.mark.parametrize(
    ("verb", "path", "status"), [("GET", SHELF, 200), ("POST", SHELVES, 201), ("POST", f"{SHELF}:move", 202)]
)
async def test_success_status_comes_from_the_contract(edge: Edge, verb: str, path: str, status: int) -> None:
    """MSH-08: 201 and 202 are declared by the method and applied at the edge."""
    answer = await edge.call(verb, path, body={} if verb == "POST" else None)

    assert answer.status == status
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("note", "status", "code", "reason"),
    [
        ("absent", 404, 5, "REASON_ENTITY_NOT_FOUND"),
        ("stale", 409, 10, "REASON_VERSION_STALE"),
        ("flood", 429, 8, "REASON_OVERLOADED"),
        ("busy", 503, 14, "REASON_OPERATION_BUSY"),
    ],
)
async def test_refusal_of_a_service_becomes_http_and_json(
    edge: Edge, note: str, status: int, code: int, reason: str
) -> None:
    """MSH-08: the HTTP status follows from the gRPC code; reason and domain travel in the details."""
    answer = await edge.call("GET", f"{SHELF}?note_text={note}")

    assert answer.status == status
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "canopy", "metadata": {}}
    assert answer.json() == {"code": code, "message": "Refused.", "details": [info]}
    assert not [name for name in answer.headers if name.lower().startswith("grpc-")]
    assert answer.is_hardened()


async def test_failure_without_details_has_the_same_shape(edge: Edge) -> None:
    """MSH-08: a failure below our own interceptors is JSON as well, and no trace of gRPC is left in its headers."""
    answer = await edge.call("GET", f"{SHELF}?note_text=bare")

    assert answer.status == 500
    assert answer.json() == {"code": 13, "message": "Bare.", "details": []}
    assert not [name for name in answer.headers if name.lower().startswith("grpc-")]


async def test_refused_creation_keeps_its_error_status(edge: Edge) -> None:
    """MSH-08: a status of success is never put on a refusal."""
    answer = await edge.call("POST", SHELVES, body={"kind": "KIND_OF_NOTHING"})

    assert answer.status == 400


async def test_retry_after_is_the_services_own_or_a_default(edge: Edge) -> None:
    """MSH-11: 503 and 429 always say when to come back."""
    own = await edge.call("GET", f"{SHELF}?note_text=busy")
    default = await edge.call("GET", f"{SHELF}?note_text=flood")

    assert own.headers.getall("retry-after") == ["7"]
    assert default.headers.getall("retry-after") == ["2"]


async def test_cookies_of_a_service_reach_the_browser(edge: Edge) -> None:
    """MSH-11: each Set-Cookie arrives as its own header."""
    answer = await edge.call("GET", SHELF)

    assert answer.headers.getall("set-cookie") == ["__Host-a=1", "__Host-b=2"]


async def test_unset_fields_are_printed(edge: Edge) -> None:
    """MSH-11: JSON names are lowerCamelCase, and a zero is said, not left out."""
    shelf = (await edge.call("GET", SHELF)).json()

    assert (shelf["noteText"], shelf["pageCount"], shelf["kind"]) == ("", "0", "KIND_UNSPECIFIED")


@pytest.mark.parametrize(
    ("verb", "path", "data", "status"),
    [
        ("GET", "/nothing", None, 404),
        ("DELETE", SHELF, b"", 404),
        ("OPTIONS", SHELVES, b"", 404),
        ("GET", f"{SHELF}?nope=1", None, 400),
        ("POST", SHELVES, b'{"name": "\xff-kaninchen"}', 400),
        ("POST", SHELVES, b'{"kaninchen": ', 400),
        ("POST", f"{SHELF}:move", b'{"target": "%s"}' % (b"kaninchen" * 600), 413),
        ("GET", "/v1/portal/shelves/kaninchen%2f", None, 400),
    ],
)
async def test_envoys_own_answer_has_the_same_shape_and_echoes_nothing(
    edge: Edge, verb: str, path: str, data: bytes | None, status: int
) -> None:
    """MSH-11: one JSON error shape and all security headers, also where Envoy itself refuses."""
    answer = await edge.call(verb, path, data=data)

    assert answer.status == status
    assert set(answer.json()) == {"code", "message", "details"}
    assert answer.is_hardened()
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["server"] == "canopy"
    assert b"kaninchen" not in answer.body


@pytest.mark.parametrize(
    "body", [b"[]", b"null", b'{"name": ', b'{"name": {}}', b'{"kind": "KANINCHEN"}', b'{"name": "\xff"}']
)
async def test_body_that_is_no_message_has_a_reason(edge: Edge, body: bytes) -> None:
    """MSH-08: what cannot be transcoded is refused with a reason of the catalogue, and reaches no service."""
    calls = len(edge.upstream.calls)

    answer = await edge.call("POST", SHELVES, data=body)

    assert (answer.status, answer.json()["code"]) == (400, 3)
    assert answer.json()["details"][0]["reason"] == "REASON_MALFORMED_BODY"
    assert len(edge.upstream.calls) == calls


async def test_security_headers_are_on_success_too(edge: Edge) -> None:
    """MSH-11: every answer carries them, and the address of the request for support."""
    answer = await edge.call("GET", SHELF)

    assert answer.is_hardened()
    assert answer.headers["cache-control"] == "no-store"
    assert len(answer.headers["x-request-id"]) == 36
    assert not [name for name in answer.headers if name.lower().startswith(("grpc-", "x-envoy-"))]


async def test_liveness_and_readiness_answer_on_both_listeners(edge: Edge) -> None:
    """OPS-01: a probe needs no token and no service of ours to learn that the edge lives."""
    for staff in (False, True):
        for path in ("/livez", "/readyz"):
            answer = await edge.call("GET", path, staff=staff)

            assert (answer.status, answer.json()) == (200, {"status": "ok"})
            assert not [name for name in answer.headers if name.lower().startswith("x-envoy")]


async def test_access_log_names_routes_and_nothing_that_was_sent(tmp_path: Path) -> None:
    """MSH-11: no path, query, cookie, token or body ever stands in the log of the edge."""
    canary = "kaninchen"
    async with running_edge(tmp_path) as edge:
        await edge.call("GET", f"/v1/portal/shelves/{canary}?note_text={canary}", headers={"cookie": canary})
        await edge.call("GET", f"/{canary}", headers={"referer": canary, "user-agent": canary})
        await edge.call(
            "POST", "/v1/trees:batchGet", staff=True, body={"name": canary}, headers={"authorization": canary}
        )
        await edge.call("POST", SHELVES, data=canary.encode())
    text = edge.access_log.read_text()

    lines = [json.loads(line) for line in text.splitlines()]
    assert [(line["route"], line["status"]) for line in lines] == [
        ("canopy.portal.v1.ShelvesService/GetShelf", 200),
        ("none", 404),
        ("canopy.persons.v1.TreesService/BatchGetTrees", 200),
        ("canopy.portal.v1.ShelvesService/CreateShelf", 400),
    ]
    assert canary not in text


async def test_service_that_is_gone_is_a_503(tmp_path: Path) -> None:
    """MSH-11: a missing service is said in our shape, with a time to come back; the edge itself stays alive."""
    async with running_edge(tmp_path) as edge:
        await edge.stop_upstream()

        answer = await edge.call("GET", SHELF)
        alive = await edge.call("GET", "/livez")

    assert answer.status == 503
    assert answer.json()["details"][0]["reason"] == "REASON_UPSTREAM_UNAVAILABLE"
    assert answer.headers["retry-after"] == "2"
    assert answer.is_hardened()
    assert alive.status == 200
