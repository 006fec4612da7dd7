"""The event bus on Redis streams: the embedded default. Works on Valkey 7.2+ and Redis 7+.

One stream holds all events; each group of consumers is a consumer group of it and filters by type itself. Confirmed
means: in the primary's memory and written to its append-only file. Run the instance with appendonly yes, noeviction
and a memory bound, and with appendfsync always where a power cut must not take up to a second of events.

The stream is never cut below what some group has not handled: when it is full, what all groups have settled is
forgotten, and if that is not enough publishing is refused, so that events wait in the outboxes and are not lost.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from canopy.events.v1.event_pb2 import Event
from services.chassis.background import Worker
from services.chassis.bus import BusUnavailableError, Handler, check_patterns, matches
from services.chassis.config import knob
from services.kernel import instruments
from services.kernel.errors import label

_log: Final = logging.getLogger(__name__)

STREAM: Final = "canopy.events"
DEAD_STREAM: Final = "canopy.events.dead"
"""Dead letters: fields group, deliveries, error (a label) and event (the bytes as they were published)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisBusConfig:
    """Bounds of the streams and of a delivery."""

    max_length: int = knob(
        100_000, lo=1, hi=100_000_000, doc="Events kept for slow groups before publishing is refused."
    )
    max_event_bytes: int = knob(65_536, lo=256, hi=4_194_304, unit="bytes", doc="Largest event that is accepted.")
    max_deliveries: int = knob(
        5, lo=1, hi=100, doc="Failed deliveries to a group after which an event is a dead letter."
    )
    max_dead_letters: int = knob(
        10_000, lo=1, hi=10_000_000, doc="About how many dead letters are kept; the oldest go."
    )
    handler_seconds: float = knob(
        10.0, lo=0.01, hi=3600, unit="s", doc="Longest time a consumer may take for one event."
    )
    redeliver_seconds: float = knob(
        30.0, lo=0.02, hi=7200, unit="s", doc="Time after which an unsettled event comes again."
    )
    block_seconds: float = knob(1.0, lo=0.01, hi=4, unit="s", doc="How long an idle consumer waits in one read.")

    def check(self) -> Iterator[str]:
        """Keep an event from coming again while its first handler may still be at work."""
        if self.redeliver_seconds < 2 * self.handler_seconds:
            yield "redeliver_seconds must be at least 2 x handler_seconds"


class RedisStreamsBus:
    """A `Bus` on one Redis or Valkey instance."""

    def __init__(self, client: Redis, config: RedisBusConfig) -> None:
        """Prepare. client: answers in bytes, waits longer than `block_seconds` (see services.chassis.valkey)."""
        self._client = client
        self._config = config
        self._length = 0

    async def publish(self, events: Sequence[Event]) -> Mapping[str, str]:
        """See `Bus.publish`. All accepted events are stored together or none is. Refuses "too_large" events."""
        refused: dict[str, str] = {}
        blocked: set[str] = set()
        accepted: list[bytes] = []
        for event in events:
            if event.subject in blocked:
                continue
            content = event.SerializeToString()
            if len(content) > self._config.max_event_bytes:
                refused[event.id] = "too_large"
                blocked.add(event.subject)
            else:
                accepted.append(content)
        if accepted:
            await self._append(accepted)
        return refused

    def subscribe(self, group: str, patterns: Sequence[str], handler: Handler) -> Worker:
        """See `Bus.subscribe`. A failed event comes again after `redeliver_seconds`."""
        subscription = _Subscription(self._client, self._config, group, check_patterns(patterns), handler)
        return Worker(f"subscription-{group}", 0.0, subscription.receive, drain_seconds=self._config.handler_seconds)

    async def _append(self, contents: Sequence[bytes]) -> None:
        """Append in one MULTI/EXEC: an instance that is out of memory takes none, so no event overtakes another."""
        try:
            if self._length >= self._config.max_length:
                self._length = await self._make_room()
            if self._length >= self._config.max_length:
                raise BusUnavailableError("the stream is full of events that some group has not handled")
            async with self._client.pipeline(transaction=True) as pipe:
                for content in contents:
                    pipe.xadd(STREAM, {"event": content})
                pipe.xlen(STREAM)
                self._length = (await pipe.execute())[-1]
        except RedisError as error:
            raise BusUnavailableError("the bus did not confirm") from error

    async def _make_room(self) -> int:
        """Forget what every group has settled (everything, if there is no group); return the length left."""
        try:
            groups = await self._client.xinfo_groups(STREAM)
        except ResponseError:  # no stream yet
            return 0
        if not groups:
            await self._client.xtrim(STREAM, maxlen=0, approximate=False)
        else:
            needed = [await self._oldest_needed(group) for group in groups]
            await self._client.xtrim(STREAM, minid=min(needed, key=_order), approximate=False)
        return await self._client.xlen(STREAM)

    async def _oldest_needed(self, group: Mapping[str, Any]) -> bytes:
        """Return the id of the oldest entry that a group has not settled, or the last one it was given."""
        if group["pending"]:
            pending = await self._client.xpending(STREAM, group["name"])
            if pending["min"] is not None:
                return pending["min"]
        return group["last-delivered-id"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """One delivery: id in the stream, bytes as published, and how often it was delivered, this time included."""

    id: bytes
    content: bytes
    deliveries: int


class _Subscription:
    """One consumer of a group. Its name is fresh, so a restarted process inherits nothing and hides nothing."""

    def __init__(
        self, client: Redis, config: RedisBusConfig, group: str, patterns: Sequence[str], handler: Handler
    ) -> None:
        self._client = client
        self._config = config
        self._group = group
        self._patterns = patterns
        self._handler = handler
        self._consumer = str(uuid.uuid4())
        self._joined = False
        self._next_look = 0.0

    async def receive(self) -> None:
        """Take and settle at most one event: one that was left unsettled for too long, else the next new one."""
        try:
            if not self._joined:
                await self._join()
            entry = await self._take_over() or await self._take_next()
            if entry is not None:
                await self._deliver(entry)
        except RedisError:
            self._joined = False  # the instance may have lost the group
            raise

    async def _join(self) -> None:
        """Create the group, from the oldest event kept, unless it exists."""
        try:
            await self._client.xgroup_create(STREAM, self._group, id="0", mkstream=True)
        except ResponseError as error:
            if not str(error).startswith("BUSYGROUP"):
                raise
        self._joined = True

    async def _take_over(self) -> _Entry | None:
        """Claim one entry that was left unsettled too long: its consumer failed or died."""
        now = asyncio.get_running_loop().time()
        if now < self._next_look:
            return None
        idle = int(self._config.redeliver_seconds * 1000)
        answer: Any = await self._client.xautoclaim(STREAM, self._group, self._consumer, min_idle_time=idle, count=1)
        entries = answer[1]
        if not entries:
            self._next_look = now + self._config.redeliver_seconds / 4
            return None
        [(entry_id, fields)] = entries
        pending: Any = await self._client.xpending_range(STREAM, self._group, min=entry_id, max=entry_id, count=1)
        if not pending:  # its former consumer was slow, not dead, and has settled it meanwhile
            return None
        return _Entry(id=entry_id, content=fields.get(b"event", b""), deliveries=pending[0]["times_delivered"])

    async def _take_next(self) -> _Entry | None:
        block = int(self._config.block_seconds * 1000)
        answer: Any = await self._client.xreadgroup(self._group, self._consumer, {STREAM: ">"}, count=1, block=block)
        if not answer:
            return None
        [(_, [(entry_id, fields)])] = answer
        return _Entry(id=entry_id, content=fields.get(b"event", b""), deliveries=1)

    async def _deliver(self, entry: _Entry) -> None:
        """Hand an entry to the handler and settle it; leave it pending when it failed and may come again."""
        if entry.deliveries > self._config.max_deliveries:  # its consumers died without a word
            await self._set_aside(entry, "no_answer")
            return
        try:
            event = Event.FromString(entry.content)
            if any(matches(pattern, event.type) for pattern in self._patterns):
                async with asyncio.timeout(self._config.handler_seconds):
                    await self._handler(event)
        except Exception as error:  # noqa: BLE001 -- whatever a handler raises is a failed delivery, never the loop's end
            kind = label(error)
            instruments.BUS_DELIVERIES_FAILED.add(1, {instruments.GROUP: self._group})
            facts = {"group": self._group, "error": kind, "deliveries": entry.deliveries}
            _log.warning("delivery failed", extra=facts)
            if entry.deliveries >= self._config.max_deliveries:
                await self._set_aside(entry, kind)
            return
        await self._client.xack(STREAM, self._group, entry.id)

    async def _set_aside(self, entry: _Entry, error: str) -> None:
        """Make an entry a dead letter: kept for an operator, delivered no more."""
        letter: dict[Any, Any] = {
            "group": self._group,
            "deliveries": min(entry.deliveries, self._config.max_deliveries),
            "error": error,
            "event": entry.content,
        }
        async with self._client.pipeline(transaction=True) as pipe:
            pipe.xadd(DEAD_STREAM, letter, maxlen=self._config.max_dead_letters)
            pipe.xack(STREAM, self._group, entry.id)
            await pipe.execute()
        instruments.BUS_DEAD_LETTERS.add(1, {instruments.GROUP: self._group})
        _log.error("event set aside as a dead letter", extra={"group": self._group, "error": error})


def _order(entry_id: bytes) -> tuple[int, int]:
    """Order stream ids, which are two numbers and no text."""
    time, _, number = entry_id.partition(b"-")
    return int(time), int(number)
