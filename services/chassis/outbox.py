"""The transactional outbox: an event exists if, and only if, the transaction that caused it committed.

`stage` writes events in the caller's transaction. Events of a finalize attempt are staged held: no one sees them until
`release`, in the transaction that seals the attempt; `drop` ends them for good (FIN-13). `Drainer` publishes.

Order: events of one subject are published in the order of their positions. A position is taken at stage, or at release
for held events, so a writer that needs this order holds the lock of the aggregate when it stages. In the lock order of
a transaction the outbox comes last.
"""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass
from typing import Final

from google.protobuf.any_pb2 import Any
from google.protobuf.message import Message
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from canopy.events.v1.event_pb2 import Event
from services.chassis.postgres import Transaction

SHARDS: Final = 16
"""Number of shards; the migration has the same number in its checks. Changing it reorders subjects once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """What happened. `type` is dotted lower case, `subject` is kind/id; `data` holds ids and kinds only."""

    type: str
    subject: str
    data: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """The finalize attempt that an event waits for."""

    operation_id: uuid.UUID
    generation: int


STAGE: Final = """
INSERT INTO event_outbox (event_id, position, shard, subject, type, envelope, hold_operation_id, hold_generation)
SELECT new.event_id,
       CASE WHEN $6::uuid IS NULL THEN nextval('event_outbox_position') END,
       new.shard,
       new.subject,
       new.type,
       new.envelope,
       $6,                              -- hold: operation, or null
       $7::bigint                       -- hold: generation, or null
  FROM unnest($1::uuid[], $2::smallint[], $3::text[], $4::text[], $5::bytea[])
       WITH ORDINALITY AS new (event_id, shard, subject, type, envelope, nth)
 ORDER BY new.nth
"""


async def stage(tx: Transaction, *events: NewEvent, hold: Hold | None = None) -> None:
    """Stage events in their order, in one statement, as part of the caller's transaction. No events, no statement."""
    if not events:
        return
    rows = [_row(event) for event in events]
    await tx.execute(
        STAGE,
        [row.event_id for row in rows],
        [shard_of(row.subject) for row in rows],
        [row.subject for row in rows],
        [row.type for row in rows],
        [row.envelope for row in rows],
        hold.operation_id if hold else None,
        hold.generation if hold else None,
    )


RELEASE: Final = """
WITH held AS MATERIALIZED (
  SELECT event_id
    FROM event_outbox
   WHERE hold_operation_id = $1         -- uuid
     AND hold_generation = $2           -- bigint
     AND dropped_at IS NULL
   ORDER BY stage_number
     FOR UPDATE                         -- a concurrent release or drop decides first, then these rows are gone
), placed AS MATERIALIZED (
  SELECT event_id, nextval('event_outbox_position') AS position
    FROM held
)
UPDATE event_outbox AS event
   SET position = placed.position,
       hold_operation_id = NULL,
       hold_generation = NULL,
       released_at = clock_timestamp()
  FROM placed
 WHERE event.event_id = placed.event_id
"""


async def release(tx: Transaction, operation_id: uuid.UUID, generation: int) -> int:
    """Let the events of an attempt go, in the order they were staged. Returns how many; 0 on a repeat."""
    return _count(await tx.execute(RELEASE, operation_id, generation))


DROP: Final = """
UPDATE event_outbox
   SET dropped_at = clock_timestamp()
 WHERE hold_operation_id = $1           -- uuid
   AND hold_generation = $2             -- bigint
   AND dropped_at IS NULL
"""


async def drop(tx: Transaction, operation_id: uuid.UUID, generation: int) -> int:
    """End the held events of an attempt: they are never published. Returns how many; 0 on a repeat or after release."""
    return _count(await tx.execute(DROP, operation_id, generation))


def shard_of(subject: str) -> int:
    """Return the shard of a subject, 0..=15: the first 8 bytes of blake2b over its UTF-8, big-endian, mod 16."""
    return int.from_bytes(hashlib.blake2b(subject.encode(), digest_size=8).digest(), "big") % SHARDS


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """One event on its way into the table."""

    event_id: uuid.UUID
    subject: str
    type: str
    envelope: bytes


def _row(event: NewEvent) -> _Row:
    event_id = uuid.uuid4()
    data = Any()
    data.Pack(event.data)
    envelope = Event(
        id=str(event_id), type=event.type, subject=event.subject, traceparent=_traceparent(), data=data
    ).SerializeToString()
    return _Row(event_id=event_id, subject=event.subject, type=event.type, envelope=envelope)


def _traceparent() -> str:
    """Return the W3C traceparent of the current span, or nothing when the call is not traced."""
    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier.get("traceparent", "")


def _count(tag: str) -> int:
    """Read the row count of a command tag such as "UPDATE 3"."""
    return int(tag.rsplit(" ", 1)[1])
