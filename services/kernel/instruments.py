"""Every metric the product emits: name, unit and meaning, in one place for dashboards and alert rules.

Made on the OpenTelemetry API, so they cost next to nothing until a process sets up the SDK. Labels are from small fixed
sets: a worker, group, method or reason; never an id, never anything that a person sent.
"""

from __future__ import annotations

from typing import Final

from opentelemetry import metrics
from opentelemetry.metrics import Counter

_meter: Final = metrics.get_meter("canopy")

worker_failures: Final[Counter] = _meter.create_counter(
    "canopy.worker.failures", unit="{pass}", description="Passes of background workers that failed. Labels: worker."
)
outbox_published: Final[Counter] = _meter.create_counter(
    "canopy.outbox.published", unit="{event}", description="Events confirmed by the bus and marked as published."
)
outbox_parked: Final[Counter] = _meter.create_counter(
    "canopy.outbox.parked",
    unit="{event}",
    description="Events refused too often; an operator has to look. Labels: reason.",
)
outbox_leases_lost: Final[Counter] = _meter.create_counter(
    "canopy.outbox.leases_lost",
    unit="{pass}",
    description="Passes that outlived their shard lease and could not mark what they had published.",
)
bus_deliveries_failed: Final[Counter] = _meter.create_counter(
    "canopy.bus.deliveries_failed", unit="{delivery}", description="Deliveries whose handler failed. Labels: group."
)
bus_dead_letters: Final[Counter] = _meter.create_counter(
    "canopy.bus.dead_letters", unit="{event}", description="Events set aside after too many deliveries. Labels: group."
)
