"""What the code under test says about itself: spans and metrics, kept in memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import CollectorRegistry

from services.chassis.telemetry import prometheus_reader, resource_of


@pytest.fixture(scope="session")
def all_spans() -> InMemorySpanExporter:
    """Every span of the run from here on; an SDK can be set only once in a process."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(resource=resource_of("canopy-test"), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


@pytest.fixture
def spans(all_spans: InMemorySpanExporter) -> Iterator[InMemorySpanExporter]:
    """The spans of this test: `spans.get_finished_spans()`."""
    all_spans.clear()
    yield all_spans
    all_spans.clear()


@pytest.fixture(scope="session")
def registry() -> CollectorRegistry:
    """The metrics of the run from here on, as Prometheus would scrape them."""
    exposed = CollectorRegistry()
    provider = MeterProvider(metric_readers=[prometheus_reader(exposed)], shutdown_on_exit=False)
    metrics.set_meter_provider(provider)
    return exposed
