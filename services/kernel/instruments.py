"""Every metric, by name, over the OpenTelemetry API; without an SDK they cost nothing and count nothing.

Labels come from the contract and the code only (method, status code, reason, worker, group), so that their number is
bounded and nothing personal can be among them. Durations are seconds.
"""

from __future__ import annotations

from typing import Final

from opentelemetry import metrics, trace

SCOPE: Final = "canopy"

# Attribute names, on spans and metrics alike.
SYSTEM: Final = "rpc.system"
SERVICE: Final = "rpc.service"
METHOD: Final = "rpc.method"
STATUS_CODE: Final = "rpc.grpc.status_code"
REASON: Final = "canopy.reason"
WORKER: Final = "canopy.worker"
GROUP: Final = "canopy.group"
OUTCOME: Final = "canopy.outcome"

_DURATION_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 90.0)

_meter: Final = metrics.get_meter(SCOPE)

SERVER_CALLS: Final = _meter.create_counter(
    "canopy.rpc.server.calls", unit="{call}", description="Calls served, by method, status code and reason."
)
SERVER_SECONDS: Final = _meter.create_histogram(
    "canopy.rpc.server.duration",
    unit="s",
    description="Time from a call's arrival to its end, by method.",
    explicit_bucket_boundaries_advisory=_DURATION_BUCKETS,
)
CLIENT_CALLS: Final = _meter.create_counter(
    "canopy.rpc.client.calls", unit="{call}", description="Calls made, retries included in one, by method and outcome."
)
CLIENT_SECONDS: Final = _meter.create_histogram(
    "canopy.rpc.client.duration",
    unit="s",
    description="Time from the start of a call to its outcome: token, retries and waits included.",
    explicit_bucket_boundaries_advisory=_DURATION_BUCKETS,
)
CLIENT_RETRIES: Final = _meter.create_counter(
    "canopy.rpc.client.retries", unit="{attempt}", description="Attempts after the first, by method."
)
WORKER_FAILURES: Final = _meter.create_counter(
    "canopy.worker.failures", unit="{pass}", description="Passes of background workers that failed, by worker."
)
OUTBOX_PUBLISHED: Final = _meter.create_counter(
    "canopy.outbox.published", unit="{event}", description="Events confirmed by the bus and marked as published."
)
OUTBOX_PARKED: Final = _meter.create_counter(
    "canopy.outbox.parked", unit="{event}", description="Events refused too often, by reason: an operator has to look."
)
OUTBOX_LEASES_LOST: Final = _meter.create_counter(
    "canopy.outbox.leases_lost",
    unit="{pass}",
    description="Passes that outlived their lease of a shard and could not mark all they had published.",
)
BUS_DELIVERIES_FAILED: Final = _meter.create_counter(
    "canopy.bus.deliveries_failed", unit="{delivery}", description="Deliveries whose handler failed, by group."
)
BUS_DEAD_LETTERS: Final = _meter.create_counter(
    "canopy.bus.dead_letters", unit="{event}", description="Events set aside after too many deliveries, by group."
)
PASSCODE_HASHES: Final = _meter.create_counter(
    "canopy.passcode.hashes", unit="{hash}", description="Argon2id runs of passcodes, for new ones and for logins."
)
FINALIZE_ENDED: Final = _meter.create_counter(
    "canopy.finalize.ended", unit="{attempt}", description="Attempts to submit a draft that ended, by outcome."
)
FINALIZE_TAKEOVERS: Final = _meter.create_counter(
    "canopy.finalize.takeovers", unit="{attempt}", description="Attempts resumed, or undone, after a lease had run out."
)
FINALIZE_LEASES_LOST: Final = _meter.create_counter(
    "canopy.finalize.leases_lost", unit="{attempt}", description="Attempts that were told by a heartbeat to be lost."
)
FINALIZE_RELEASES_BLOCKED: Final = _meter.create_counter(
    "canopy.finalize.releases_blocked",
    unit="{operation}",
    description="Filed applications whose events persons refuses to release: a data steward has to decide.",
)
CLOCK_STEPPED_BACK: Final = _meter.create_counter(
    "canopy.clock.stepped_back",
    unit="{write}",
    description="Writes refused because the database's clock is behind what it has already recorded.",
)


def tracer() -> trace.Tracer:
    """Return the tracer of all our spans."""
    return trace.get_tracer(SCOPE)


def method_labels(method: str) -> dict[str, str | int]:
    """Split "/canopy.persons.v1.PersonsService/BatchGetPersons" into the labels of a call."""
    service, _, name = method.lstrip("/").rpartition("/")
    return {SYSTEM: "grpc", SERVICE: service, METHOD: name}
