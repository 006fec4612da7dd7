"""What tests of the outbox share: events to stage, drainers, and a look at what the bus was given."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from google.protobuf.wrappers_pb2 import StringValue
from redis.asyncio import Redis

from canopy.events.v1.event_pb2 import Event
from services.chassis import outbox
from services.chassis.bus_redis import STREAM, RedisBusConfig, RedisStreamsBus
from services.chassis.outbox import Hold, NewEvent
from services.chassis.outbox_drainer import Drainer, DrainerConfig
from services.chassis.postgres import Database

T = TypeVar("T")

PATIENCE: Final = 20.0  # a signal that never comes fails the test instead of hanging it
MAX_ATTEMPTS: Final = 3
TOO_LARGE: Final = "x" * 2000
"""A text whose event the bus of `new_drainer` refuses."""

END_LEASES: Final = "UPDATE outbox_shards SET lease_until = clock_timestamp() WHERE holder IS NOT NULL"
END_WAITS: Final = "UPDATE event_outbox SET next_attempt_at = clock_timestamp() WHERE next_attempt_at IS NOT NULL"


def new_event(subject: str = "person/1", text: str = "", event_type: str = "persons.person.recorded") -> NewEvent:
    """Return an event whose payload is the text."""
    return NewEvent(type=event_type, subject=subject, data=StringValue(value=text))


async def stage(db: Database, *events: NewEvent, hold: Hold | None = None) -> None:
    """Stage events in a transaction of their own."""
    await db.transact("stage", lambda tx: outbox.stage(tx, *events, hold=hold))


def new_drainer(
    db: Database, client: Redis, *, poll_seconds: float = 60, batch: int = 64, shards: int = outbox.SHARDS
) -> Drainer:
    """Return a drainer that looks when told to, gives up early and cannot publish TOO_LARGE."""
    config = DrainerConfig(poll_seconds=poll_seconds, batch=batch, shards=shards, max_attempts=MAX_ATTEMPTS)
    return Drainer(db, RedisStreamsBus(client, RedisBusConfig(max_event_bytes=1000)), "canopy-persons", config)


async def write(db: Database, sql: str) -> None:
    """Run a statement in a transaction of its own."""
    await db.transact("arrange", lambda tx: tx.execute(sql))


async def unpublished(db: Database) -> int:
    """Count the events that are not marked as published."""
    return await db.fetchval("SELECT count(*) FROM event_outbox WHERE published_at IS NULL")


async def soon(signal: Awaitable[T]) -> T:
    """Wait for a signal, within reason."""
    async with asyncio.timeout(PATIENCE):
        return await signal


class Ended:
    """A failpoint's behaviour: sees that nothing is left to publish, once everything has been staged."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.expected = False
        self.seen = asyncio.Event()

    async def __call__(self) -> None:
        if self.expected and await unpublished(self._db) == 0:
            self.seen.set()


def text_of(event: Event) -> str:
    """Return the text that `new_event` put in."""
    payload = StringValue()
    assert event.data.Unpack(payload)
    return payload.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What stands on the bus, in order, repeats included."""

    client: Redis

    async def events(self) -> list[Event]:
        """Return every event."""
        entries: Any = await self.client.xrange(STREAM)
        return [Event.FromString(fields[b"event"]) for _, fields in entries]

    async def texts(self) -> list[str]:
        """Return the texts of every event."""
        return [text_of(event) for event in await self.events()]
