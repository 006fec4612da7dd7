"""Publishes the outbox: shard by shard, no remembered cursor, no transaction open while the bus is spoken to.

A pass claims the free shards that have something due, reads one bounded batch, publishes it, marks it and frees the
shards. Any number of drainers may run. A claim is fenced: its token is fresh and each write compares it under the
shard row's lock, so a drainer that was paused past its lease changes nothing. It may publish what its successor
publishes too; both do so in position order, so the first delivery of each event still keeps the order of its subject.
A bus that is down leaves the rows untouched; only a refusal of one event counts against that event.
"""

from __future__ import annotations

import contextlib
import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from asyncpg import Record
from google.protobuf.message import DecodeError

from canopy.events.v1.event_pb2 import Event
from services.chassis.background import Worker
from services.chassis.bus import Bus
from services.chassis.config import knob
from services.chassis.outbox import SHARDS
from services.chassis.postgres import Database
from services.kernel import failpoint, instruments
from services.kernel.failpoint import Failpoint

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainerConfig:
    """How eagerly the outbox is published, and when it gives up on an event."""

    poll_seconds: float = knob(
        1.0, lo=0.05, hi=60, unit="s", doc="Time between two looks; a commit here looks at once."
    )
    batch: int = knob(64, lo=1, hi=1000, doc="Events read from each claimed shard in one pass.")
    shards: int = knob(SHARDS, lo=1, hi=SHARDS, doc="Shards that one pass may claim; fewer spread work over replicas.")
    lease_seconds: float = knob(60.0, lo=1, hi=3600, unit="s", doc="How long a claimed shard is left alone.")
    max_attempts: int = knob(8, lo=1, hi=100, doc="Refusals by the bus after which an event is parked.")
    first_retry_seconds: float = knob(
        1.0, lo=0.01, hi=60, unit="s", doc="Wait after a first refusal; doubles each time."
    )
    longest_retry_seconds: float = knob(300.0, lo=0.01, hi=86400, unit="s", doc="Longest wait between two attempts.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Due:
    """One event read from the outbox; `event` is None when its envelope cannot be decoded."""

    event_id: uuid.UUID
    type: str
    subject: str
    event: Event | None


class Drainer:
    """Publishes what services of this database have staged. `worker` runs it; `wake` tells it that something was."""

    def __init__(self, db: Database, bus: Bus, source: str, config: DrainerConfig) -> None:
        """Prepare. source: the service id that becomes the events' CloudEvents source, such as "canopy-persons"."""
        self._db = db
        self._bus = bus
        self._source = source
        self._config = config
        self.worker: Final = Worker("outbox-drainer", config.poll_seconds, self._work)

    def wake(self) -> None:
        """Look now: a hint to give after a commit that staged or released events. Polling finds them in any case."""
        self.worker.nudge()

    async def drain_once(self) -> int:
        """Claim, read, publish, mark, free: one bounded pass. Returns how many events it published or put off.

        Raises BusUnavailableError when the bus does not confirm; the events stay due.
        """
        token = uuid.uuid4()
        shards = await self._claim(token)
        if not shards:
            return 0
        try:
            await failpoint.reach(Failpoint.OUTBOX_AFTER_CLAIM)
            due = await self._read(shards)
            published, refused = await self._publish(due)
            await failpoint.reach(Failpoint.OUTBOX_AFTER_PUBLISH)
            marked = await self._mark_published(token, published) + await self._mark_refused(token, due, refused)
            await failpoint.reach(Failpoint.OUTBOX_AFTER_MARK)
        finally:
            await self._free(token)
        return marked

    async def _work(self) -> None:
        if await self.drain_once():
            self.worker.nudge()  # a pass is bounded: there may be more

    async def _claim(self, token: uuid.UUID) -> list[int]:
        rows = await self._write("outbox.claim", CLAIM, token, self._config.lease_seconds, self._config.shards)
        return [row["shard"] for row in rows]

    async def _read(self, shards: Sequence[int]) -> list[_Due]:
        rows = await self._db.fetch(READ, shards, self._config.batch)
        return [
            _Due(
                event_id=row["event_id"],
                type=row["type"],
                subject=row["subject"],
                event=_decode(row["envelope"], self._source, row["staged_at"]),
            )
            for row in rows
        ]

    async def _publish(self, due: Sequence[_Due]) -> tuple[list[uuid.UUID], dict[uuid.UUID, str]]:
        """Publish in order. Returns the ids that the bus stored, and the refused ids with their reason slugs.

        Ids in neither stand behind a refused event of their subject.
        """
        refused: dict[uuid.UUID, str] = {}
        sent: list[_Due] = []
        blocked: set[str] = set()
        for item in due:
            if item.subject in blocked:
                continue
            if item.event is None:
                refused[item.event_id] = "undecodable"
                blocked.add(item.subject)
            else:
                sent.append(item)
        by_bus = await self._bus.publish([item.event for item in sent if item.event]) if sent else {}
        blocked.clear()
        published: list[uuid.UUID] = []
        for item in sent:
            reason = by_bus.get(str(item.event_id))
            if reason is not None:
                refused[item.event_id] = reason
                blocked.add(item.subject)
            elif item.subject not in blocked:
                published.append(item.event_id)
        return published, refused

    async def _mark_published(self, token: uuid.UUID, published: Sequence[uuid.UUID]) -> int:
        if not published:
            return 0
        marked = len(await self._write("outbox.mark", MARK_PUBLISHED, token, published))
        instruments.OUTBOX_PUBLISHED.add(marked)
        if marked < len(published):
            instruments.OUTBOX_LEASES_LOST.add(1)
            _log.warning("outbox lease lost before marking", extra={"unmarked": len(published) - marked})
        return marked

    async def _mark_refused(self, token: uuid.UUID, due: Sequence[_Due], refused: Mapping[uuid.UUID, str]) -> int:
        if not refused:
            return 0
        config = self._config
        rows = await self._write(
            "outbox.refuse",
            MARK_REFUSED,
            token,
            list(refused),
            list(refused.values()),
            config.max_attempts,
            config.first_retry_seconds,
            config.longest_retry_seconds,
        )
        types = {item.event_id: item.type for item in due}
        for row in rows:
            _report_refusal(row, types[row["event_id"]], refused[row["event_id"]])
        return len(rows)

    async def _free(self, token: uuid.UUID) -> None:
        """Give the shards back at once; if even that fails, their lease ends by itself."""
        with contextlib.suppress(Exception):
            await self._write("outbox.free", FREE, token)

    async def _write(self, name: str, sql: str, *args: object) -> list[Record]:
        """Run one statement as a transaction. Each bears repetition: it compares or sets the token of this claim."""
        return await self._db.transact(name, lambda tx: tx.fetch(sql, *args))


CLAIM: Final = """
WITH free AS MATERIALIZED (
  SELECT shard
    FROM outbox_shards AS candidate
   WHERE (holder IS NULL OR lease_until <= clock_timestamp())  -- given back is free, whatever the clock says since
     AND EXISTS (SELECT FROM outbox_due WHERE outbox_due.shard = candidate.shard)
   ORDER BY lease_until NULLS FIRST     -- the one left alone longest
   LIMIT $3                             -- shards
     FOR UPDATE SKIP LOCKED             -- another drainer is claiming or marking there
)
UPDATE outbox_shards AS claimed
   SET holder = $1,                     -- uuid, fresh for this claim
       lease_until = clock_timestamp() + make_interval(secs => $2)
  FROM free
 WHERE claimed.shard = free.shard
RETURNING claimed.shard
"""

READ: Final = """
SELECT due.event_id, due.type, due.subject, due.envelope, due.staged_at
  FROM unnest($1::smallint[]) AS mine (shard)
 CROSS JOIN LATERAL (
         SELECT event_id, type, subject, envelope, staged_at, position
           FROM outbox_due
          WHERE outbox_due.shard = mine.shard
          ORDER BY position
          LIMIT $2                      -- events of each shard
       ) AS due
 ORDER BY due.position
"""

MARK_PUBLISHED: Final = """
WITH mine AS MATERIALIZED (
  SELECT shard
    FROM outbox_shards
   WHERE holder = $1                    -- the token of the claim
     FOR SHARE                          -- nobody else claims until these marks are committed
)
UPDATE event_outbox AS event
   SET published_at = clock_timestamp()
  FROM mine
 WHERE event.shard = mine.shard
   AND event.event_id = ANY ($2::uuid[])
   AND event.published_at IS NULL
RETURNING event.event_id
"""

MARK_REFUSED: Final = """
WITH mine AS MATERIALIZED (
  SELECT shard
    FROM outbox_shards
   WHERE holder = $1                    -- the token of the claim
     FOR SHARE                          -- nobody else claims until these marks are committed
)
UPDATE event_outbox AS event
   SET attempts = event.attempts + 1,
       next_attempt_at = clock_timestamp()
                         + make_interval(secs => least($6, $5 * 2 ^ least(event.attempts, 30)) * (0.5 + random() / 2)),
       parked_at = CASE WHEN event.attempts + 1 >= $4 THEN clock_timestamp() END,
       park_reason = CASE WHEN event.attempts + 1 >= $4 THEN refused.reason END
  FROM mine, unnest($2::uuid[], $3::text[]) AS refused (event_id, reason)
 WHERE event.shard = mine.shard
   AND event.event_id = refused.event_id
   AND event.published_at IS NULL
RETURNING event.event_id, event.attempts, event.parked_at IS NOT NULL AS parked
"""

FREE: Final = """
UPDATE outbox_shards
   SET holder = NULL,
       lease_until = clock_timestamp()  -- over, and remembered: shards take turns
 WHERE holder = $1                      -- the token of the claim
"""


def _decode(envelope: bytes, source: str, staged_at: datetime) -> Event | None:
    """Complete a stored envelope; None when it cannot be decoded."""
    try:
        event = Event.FromString(envelope)
    except DecodeError:
        return None
    event.source = source
    event.time.FromDatetime(staged_at)
    return event


def _report_refusal(row: Record, event_type: str, reason: str) -> None:
    facts = {"event_id": str(row["event_id"]), "type": event_type, "reason": reason, "attempts": row["attempts"]}
    if row["parked"]:
        instruments.OUTBOX_PARKED.add(1, {instruments.REASON: reason})
        _log.error("outbox event parked: later events of its subject wait behind it", extra=facts)
    else:
        _log.warning("outbox event refused by the bus", extra=facts)
