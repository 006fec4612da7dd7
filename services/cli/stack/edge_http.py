"""The HTTP side of an edge listener: limits, routes, transcoding, and what is logged.

JSON: lowerCamelCase names (`preserve_proto_field_names: false`), enums by name, unset scalars, enums and
lists printed with their zero value (`always_print_primitive_fields`), so that a client never guesses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from services.cli.stack.edge_replies import TYPES, answer_headers, local_replies, rest_answers
from services.cli.stack.edge_routes import Rule, path_regex

Json = dict[str, Any]

# A client of the mesh allows 90 s for one logical call, so the edge never gives up before it does.
CALL_TIMEOUT: Final = "95s"
LUA: Final = Path(__file__).with_name("edge.lua")


def cluster_name(service: str) -> str:
    """Name the cluster of a service; it is the service's id in the mesh, too."""
    return f"canopy-{service}"


def connection_manager(name: str, rules: Sequence[Rule], contract: Path, access_log: Path) -> Json:
    """Build the HTTP side of a listener. name: `public` or `staff`; contract: descriptor set for Envoy to read."""
    return {
        "@type": "type.googleapis.com/envoy.extensions.filters.network"
        ".http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": name,
        "server_name": "canopy",
        "use_remote_address": True,
        "normalize_path": True,
        "path_with_escaped_slashes_action": "REJECT_REQUEST",
        "always_set_request_id_in_response": True,
        "early_header_mutation_extensions": [_header_stripping(name)],
        "common_http_protocol_options": {
            "headers_with_underscores_action": "REJECT_REQUEST",
            "idle_timeout": "300s",
            "max_headers_count": 64,
        },
        "max_request_headers_kb": 8,  # less than gRPC's own limit, whose text would list the headers
        "request_headers_timeout": "10s",
        "request_timeout": "60s",
        "stream_idle_timeout": "120s",
        "http2_protocol_options": {
            "max_concurrent_streams": 100,
            "initial_stream_window_size": 65_536,
            "initial_connection_window_size": 1_048_576,
        },
        "local_reply_config": local_replies(),
        "access_log": [_access_log(access_log, name)],
        "route_config": {
            "name": name,
            "virtual_hosts": [{"name": name, "domains": ["*"], "routes": _routes(name, rules)}],
        },
        "http_filters": [
            answer_headers(),
            _readiness(rules),
            _contract_checks(name),
            # Off but where a route gives its own limit.
            {"name": "envoy.filters.http.buffer", "disabled": True, "typed_config": _buffer(1)},
            *_transcoder(contract, rules),
            {
                "name": "envoy.filters.http.router",
                "typed_config": {"@type": f"{TYPES}.router.v3.Router", "suppress_envoy_headers": True},
            },
        ],
    }


def _header_stripping(name: str) -> Json:
    """Remove what only the mesh itself may say. Before routing, so that what filters add later is kept."""
    prefixes = ["x-canopy-", "x-forwarded-", "x-envoy-"]
    exact = ["forwarded", "x-real-ip", "x-request-id"]
    if name == "public":
        # Browsers prove themselves by cookie, and start no trace of ours.
        prefixes.append("grpc-")
        exact += ["authorization", "traceparent", "tracestate", "baggage"]
    else:
        exact.append("cookie")
    return {
        "name": "envoy.http.early_header_mutation.header_mutation",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.http.early_header_mutation"
            ".header_mutation.v3.HeaderMutation",
            "mutations": [
                *({"remove_on_match": {"key_matcher": {"prefix": prefix}}} for prefix in prefixes),
                *({"remove": header} for header in exact),
            ],
        },
    }


def _routes(name: str, rules: Iterable[Rule]) -> list[Json]:
    """List the routes: liveness, each binding, on the staff listener each method as gRPC, and 404 for the rest."""
    # A literal path goes before a pattern that would match it as well.
    ordered = sorted(rules, key=lambda rule: ("{" in rule.template, rule.template, rule.verb))
    liveness = {"match": {"path": "/livez"}, "name": "livez", "direct_response": {"status": 200}}
    native: list[Json] = []
    if name == "staff":
        native = [_native_route(rule) for rule in {rule.grpc_path: rule for rule in ordered}.values()]
    nothing = {"match": {"prefix": "/"}, "name": "none", "direct_response": {"status": 404}}
    return [liveness, *map(_rest_route, ordered), *native, nothing]


def _rest_route(rule: Rule) -> Json:
    path = {"safe_regex": {"regex": path_regex(rule.template)}} if "{" in rule.template else {"path": rule.template}
    metadata: Json = {"query": f",{','.join(rule.query_names)},"}
    if rule.success_status != 200:
        metadata["success_status"] = str(rule.success_status)
    return {
        "match": {**path, "headers": [{"name": ":method", "string_match": {"exact": rule.verb}}]},
        "name": f"{rule.service}/{rule.method}",
        "metadata": {"filter_metadata": {"envoy.filters.http.lua": metadata}},
        # The first would set a deadline of the client's choosing; the others repeat the query.
        "request_headers_to_remove": ["grpc-timeout", "x-envoy-original-path", "x-envoy-original-method"],
        "route": {**_upstream(rule), "timeout": CALL_TIMEOUT},
        "typed_per_filter_config": {
            **rest_answers(),
            "envoy.filters.http.buffer": {
                "@type": f"{TYPES}.buffer.v3.BufferPerRoute",
                "buffer": {"max_request_bytes": rule.max_body_bytes},
            },
        },
    }


def _native_route(rule: Rule) -> Json:
    return {
        "match": {"path": rule.grpc_path, "grpc": {}},
        "name": f"{rule.service}/{rule.method}",
        "metadata": {"filter_metadata": {"envoy.filters.http.lua": {"native": True}}},
        "route": {
            **_upstream(rule),
            "timeout": "0s",
            "max_stream_duration": {"max_stream_duration": CALL_TIMEOUT, "grpc_timeout_header_max": CALL_TIMEOUT},
        },
    }


def _upstream(rule: Rule) -> Json:
    # Only what the upstream has certainly not begun is sent again.
    return {
        "cluster": cluster_name(rule.owner),
        "retry_policy": {"retry_on": "connect-failure,refused-stream", "num_retries": 2},
    }


def _readiness(rules: Iterable[Rule]) -> Json:
    clusters = sorted({cluster_name(rule.owner) for rule in rules})
    return {
        "name": "envoy.filters.http.health_check",
        "typed_config": {
            "@type": f"{TYPES}.health_check.v3.HealthCheck",
            "pass_through_mode": False,
            "headers": [{"name": ":path", "string_match": {"exact": "/readyz"}}],
            "cluster_min_healthy_percentages": {cluster: {"value": 100} for cluster in clusters},
        },
    }


def _contract_checks(name: str) -> Json:
    public = "true" if name == "public" else "false"
    return {
        "name": "envoy.filters.http.lua",
        "typed_config": {
            "@type": f"{TYPES}.lua.v3.Lua",
            "default_source_code": {"inline_string": f"PUBLIC = {public}\n{LUA.read_text(encoding='utf-8')}"},
        },
    }


def _buffer(max_request_bytes: int) -> Json:
    return {"@type": f"{TYPES}.buffer.v3.Buffer", "max_request_bytes": max_request_bytes}


def _transcoder(contract: Path, rules: Sequence[Rule]) -> list[Json]:
    if not rules:
        return []
    config = {
        "@type": f"{TYPES}.grpc_json_transcoder.v3.GrpcJsonTranscoder",
        "proto_descriptor": str(contract),
        "services": sorted({rule.service for rule in rules}),
        "auto_mapping": False,
        "convert_grpc_status": True,
        "match_incoming_request_route": True,
        "ignore_unknown_query_parameters": False,
        "request_validation_options": {
            "reject_unknown_query_parameters": True,
            "reject_binding_body_field_collisions": True,
        },
        "print_options": {
            "always_print_primitive_fields": True,
            "always_print_enums_as_ints": False,
            "preserve_proto_field_names": False,
        },
        "max_request_body_size": max(rule.max_body_bytes for rule in rules),
    }
    return [{"name": "envoy.filters.http.grpc_json_transcoder", "typed_config": config}]


def _access_log(file: Path, name: str) -> Json:
    """Log one JSON line a request: the name of its route, never its path, query, cookies or caller."""
    line = {
        "time": "%START_TIME%",
        "listener": name,
        "verb": "%REQ(:METHOD)%",
        "route": "%ROUTE_NAME%",
        "status": "%RESPONSE_CODE%",
        "flags": "%RESPONSE_FLAGS%",
        "milliseconds": "%DURATION%",
        "bytes_received": "%BYTES_RECEIVED%",
        "bytes_sent": "%BYTES_SENT%",
        "protocol": "%PROTOCOL%",
        "request_id": "%REQ(X-REQUEST-ID)%",
    }
    return {
        "name": "envoy.access_loggers.file",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog",
            "path": str(file),
            "log_format": {"json_format": line},
        },
    }
