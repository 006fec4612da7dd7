"""The edge: an Envoy configuration made from the contract.

Two TLS listeners. The public one serves browsers: the portal's methods, as JSON, with cookies. The staff
one serves people and programs with bearer tokens: the methods of the services behind it, as JSON and as
gRPC. Nothing is routed but the methods that have google.api.http (see `edge_routes`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from services.cli.stack.edge_http import cluster_name, connection_manager
from services.cli.stack.edge_routes import EdgeContractError, Rule

Json = dict[str, Any]

PUBLIC_SERVICES: Final = frozenset({"portal"})
STAFF_SERVICES: Final = frozenset({"persons", "applications"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A host (name or IP) and a TCP port."""

    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeSettings:
    """Where the edge listens, what it reads and whom it calls."""

    public: Address
    staff: Address
    certificate: Path
    """PEM chain that both listeners show."""
    private_key: Path
    """PEM key of the certificate."""
    contract: Path
    """Descriptor set that Envoy reads at start."""
    upstreams: Mapping[str, Address]
    """gRPC address of each service, by its name in the package (`portal` of `canopy.portal.v1`)."""
    admin: Path
    """Unix socket of Envoy's admin interface."""
    access_log: Path = Path("/dev/stdout")


def edge_config(settings: EdgeSettings, rules: Sequence[Rule]) -> Json:
    """Build the whole bootstrap document. Raises EdgeContractError where a routed service has no upstream."""
    public = [rule for rule in rules if rule.owner in PUBLIC_SERVICES]
    staff = [rule for rule in rules if rule.owner in STAFF_SERVICES]
    for rule in (*public, *staff):
        if rule.owner not in settings.upstreams:
            raise EdgeContractError(f"{rule.service} is routed, but no upstream is given for it")
    names = sorted({rule.owner for rule in (*public, *staff)})
    return {
        "admin": {"address": {"pipe": {"path": str(settings.admin), "mode": 0o600}}},
        "overload_manager": _overload(),
        "static_resources": {
            "listeners": [
                _listener(settings, "public", settings.public, public),
                _listener(settings, "staff", settings.staff, staff),
            ],
            "clusters": [_cluster(name, settings.upstreams[name]) for name in names],
        },
    }


def _overload() -> Json:
    return {
        "resource_monitors": [
            {
                "name": "envoy.resource_monitors.global_downstream_max_connections",
                "typed_config": {
                    "@type": "type.googleapis.com/envoy.extensions.resource_monitors"
                    ".downstream_connections.v3.DownstreamConnectionsConfig",
                    "max_active_downstream_connections": 10_000,
                },
            }
        ]
    }


def _listener(settings: EdgeSettings, name: str, address: Address, rules: Sequence[Rule]) -> Json:
    return {
        "name": name,
        "address": {"socket_address": {"address": address.host, "port_value": address.port}},
        "per_connection_buffer_limit_bytes": 65_536,
        # A port that someone else listens on is an error, not a port to share.
        "enable_reuse_port": False,
        "filter_chains": [
            {
                "transport_socket": _server_tls(settings),
                "transport_socket_connect_timeout": "10s",
                "filters": [
                    {
                        "name": "envoy.filters.network.http_connection_manager",
                        "typed_config": connection_manager(name, rules, settings.contract, settings.access_log),
                    }
                ],
            }
        ],
    }


def _server_tls(settings: EdgeSettings) -> Json:
    certificate = {
        "certificate_chain": {"filename": str(settings.certificate)},
        "private_key": {"filename": str(settings.private_key)},
    }
    return {
        "name": "envoy.transport_sockets.tls",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
            "common_tls_context": {
                "tls_params": {"tls_minimum_protocol_version": "TLSv1_2"},
                "tls_certificates": [certificate],
                "alpn_protocols": ["h2", "http/1.1"],
            },
        },
    }


def _cluster(service: str, address: Address) -> Json:
    return {
        "name": cluster_name(service),
        "type": "STRICT_DNS",
        "connect_timeout": "2s",
        "load_assignment": {
            "cluster_name": cluster_name(service),
            "endpoints": [
                {
                    "lb_endpoints": [
                        {
                            "endpoint": {
                                "address": {"socket_address": {"address": address.host, "port_value": address.port}}
                            }
                        }
                    ]
                }
            ],
        },
        "typed_extension_protocol_options": {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
                "explicit_http_config": {
                    "http2_protocol_options": {"connection_keepalive": {"interval": "30s", "timeout": "5s"}}
                },
            }
        },
        # Readiness, not routing: with every endpoint draining, Envoy still sends to one (panic mode), which is what
        # a rolling restart of a single instance wants.
        "health_checks": [
            {
                "timeout": "1s",
                "interval": "1s",
                "no_traffic_interval": "1s",
                "unhealthy_threshold": 2,
                "healthy_threshold": 1,
                "always_log_health_check_failures": False,
                "grpc_health_check": {},
            }
        ],
    }
