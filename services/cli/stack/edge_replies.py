"""What every answer of the edge looks like: its headers, and the JSON body of the answers Envoy gives itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from google.rpc import code_pb2

from canopy.errors.v1.reason_pb2 import Reason
from interceptors.error_details import DOMAIN
from services.kernel.policy import failure_of

Json = dict[str, Any]

TYPES: Final = "type.googleapis.com/envoy.extensions.filters.http"
YEAR_SECONDS: Final = 31_536_000

# Every powerful feature of a browser, switched off.
_FEATURES: Final = (
    "accelerometer", "camera", "display-capture", "geolocation", "gyroscope", "magnetometer", "microphone", "midi",
    "payment", "publickey-credentials-get", "screen-wake-lock", "usb", "xr-spatial-tracking",
)  # fmt: skip

SECURITY_HEADERS: Final = {
    "strict-transport-security": f"max-age={YEAR_SECONDS}",
    "content-security-policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": ", ".join(f"{feature}=()" for feature in _FEATURES),
}


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of Envoy's own: HTTP status, fixed message, and what the details say."""

    status: int
    message: str
    reason: Reason | None = None
    """Of the catalogue, which also knows its gRPC code."""
    code: int = code_pb2.INVALID_ARGUMENT
    """The gRPC code where no reason of the catalogue fits."""
    noted: str | None = None
    """What of the request Lua must have noted to be at fault; None for any."""


# The first one that fits is taken.
_REPLIES: Final = (
    Reply(400, "The query holds a parameter that this method does not take.", noted="query"),
    Reply(400, "The body is not a message of this method.", Reason.REASON_MALFORMED_BODY, noted="body"),
    Reply(400, "The request is not valid for this method."),
    Reply(401, "A token is required.", Reason.REASON_UNAUTHENTICATED),
    Reply(403, "This caller is not allowed.", Reason.REASON_CALLER_NOT_ALLOWED),
    Reply(404, "There is nothing at this path for this method.", code=code_pb2.NOT_FOUND),
    Reply(408, "The request did not arrive in time.", Reason.REASON_DEADLINE_EXCEEDED),
    Reply(413, "The body is too large.", Reason.REASON_MESSAGE_TOO_LARGE),
    Reply(415, "The content type must be application/json."),
    Reply(429, "Too many requests.", Reason.REASON_OVERLOADED),
    Reply(431, "The headers are too large."),
    Reply(500, "A fault of ours.", Reason.REASON_INTERNAL),
    Reply(501, "Not served.", Reason.REASON_NOT_IMPLEMENTED),
    Reply(502, "The service did not answer properly.", Reason.REASON_UPSTREAM_UNAVAILABLE),
    Reply(503, "The service does not answer.", Reason.REASON_UPSTREAM_UNAVAILABLE),
    Reply(504, "The service did not answer in time.", Reason.REASON_DEADLINE_EXCEEDED),
)
_OTHER: Final = Reply(0, "The request was refused.", code=code_pb2.UNKNOWN)


def local_replies() -> Json:
    """Give each of Envoy's own answers a fixed JSON body; its own text would echo bytes of the request."""
    fine = {"filter": _when(200, None), "body_format_override": {"json_format": {"status": "ok"}}}
    refused = [
        {
            "filter": _when(reply.status, reply.noted),
            "body_format_override": {"json_format": _body(reply)},
        }
        for reply in _REPLIES
    ]
    rest = {"json_format": _body(_OTHER)}
    return {"mappers": [fine, *refused], "body_format": rest}


def answer_headers() -> Json:
    """Build the filter that puts the security headers on every answer; it must stand first to see all of them."""
    appended = [_set(name, value, "OVERWRITE_IF_EXISTS_OR_ADD") for name, value in SECURITY_HEADERS.items()]
    appended.append(_set("cache-control", "no-store", "ADD_IF_ABSENT"))
    return {
        "name": "envoy.filters.http.header_mutation",
        "typed_config": {
            "@type": f"{TYPES}.header_mutation.v3.HeaderMutation",
            "mutations": {"response_mutations": [*appended, {"remove": "x-envoy-upstream-healthchecked-cluster"}]},
        },
    }


def rest_answers() -> Json:
    """Build the per-route addition for REST: no trace of gRPC in the headers of an answer."""
    return {
        "envoy.filters.http.header_mutation": {
            "@type": f"{TYPES}.header_mutation.v3.HeaderMutationPerRoute",
            "mutations": {"response_mutations": [{"remove_on_match": {"key_matcher": {"prefix": "grpc-"}}}]},
        }
    }


def _body(reply: Reply) -> Json:
    if reply.reason is None:
        return {"code": reply.code, "message": reply.message, "details": []}
    info = {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": Reason.Name(reply.reason),
        "domain": DOMAIN,
        "metadata": {},
    }
    return {"code": failure_of(reply.reason).code, "message": reply.message, "details": [info]}


def _when(status: int, noted: str | None) -> Json:
    by_status = {
        "status_code_filter": {
            "comparison": {"op": "EQ", "value": {"default_value": status, "runtime_key": f"edge.reply.{status}"}}
        }
    }
    if noted is None:
        return by_status
    by_note = {
        "metadata_filter": {
            "matcher": {
                "filter": "envoy.filters.http.lua",
                "path": [{"key": "at_fault"}],
                "value": {"string_match": {"exact": noted}},
            },
            "match_if_key_not_found": False,
        }
    }
    return {"and_filter": {"filters": [by_status, by_note]}}


def _set(name: str, value: str, action: str) -> Json:
    return {"append": {"header": {"key": name, "value": value}, "append_action": action}}
