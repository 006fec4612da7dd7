"""What tests of the outbox share: events to stage, and a look at what the bus was given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from google.protobuf.wrappers_pb2 import StringValue
from redis.asyncio import Redis

from canopy.events.v1.event_pb2 import Event
from services.chassis import outbox
from services.chassis.bus_redis import STREAM
from services.chassis.outbox import Hold, NewEvent
from services.chassis.postgres import Database


def new_event(subject: str = "person/1", text: str = "", event_type: str = "persons.person.recorded") -> NewEvent:
    """Return an event whose payload is the text."""
    return NewEvent(type=event_type, subject=subject, data=StringValue(value=text))


async def stage(db: Database, *events: NewEvent, hold: Hold | None = None) -> None:
    """Stage events in a transaction of their own."""
    await db.transact("stage", lambda tx: outbox.stage(tx, *events, hold=hold))


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
