"""The OpenTelemetry SDK of a process: traces to an OTLP collector if there is one, metrics for Prometheus to scrape.

The only place that knows the SDK. Everything else uses the API, so that tests and other programs choose their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from opentelemetry import metrics, trace
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from prometheus_client import CollectorRegistry

from services.chassis import logs
from services.chassis.config import knob


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetryConfig:
    """What a process tells about itself."""

    otlp_endpoint: str | None = knob(
        None, doc="OTLP/gRPC collector of traces; without one no trace leaves the process.", pattern=r"https?://[^?#]+"
    )
    sample_ratio: float = knob(1.0, lo=0, hi=1, doc="Share of the traces begun here that is kept.")
    log_level: str = knob("INFO", choices=("DEBUG", "INFO", "WARNING", "ERROR"), doc="Least level of our log lines.")


def resource_of(service: str) -> Resource:
    """Describe the process: its service id and nothing of the machine or the user that runs it."""
    return Resource({"service.name": service, "service.namespace": "canopy"})


def prometheus_reader(registry: CollectorRegistry) -> PrometheusMetricReader:
    """Build the reader whose metrics `registry` exposes."""
    return PrometheusMetricReader(scope_info_enabled=False, registry=registry)


@contextmanager
def configured(service: str, config: TelemetryConfig) -> Iterator[CollectorRegistry]:
    """Set up logs, traces and metrics of this process, once; yields the registry to expose; flushes at the end."""
    logs.configure(service, config.log_level)
    resource = resource_of(service)
    registry = CollectorRegistry()
    meters = MeterProvider(metric_readers=[prometheus_reader(registry)], resource=resource)
    metrics.set_meter_provider(meters)
    tracers = TracerProvider(
        sampler=ParentBased(TraceIdRatioBased(config.sample_ratio)), resource=resource, shutdown_on_exit=False
    )
    if config.otlp_endpoint is not None:
        tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=config.otlp_endpoint)))
    trace.set_tracer_provider(tracers)
    try:
        yield registry
    finally:
        tracers.shutdown()
        meters.shutdown()
