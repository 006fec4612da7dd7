"""What services.chassis.bus promises, proved on every implementation with its real server."""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter

import pytest
from google.protobuf.any_pb2 import Any
from google.protobuf.wrappers_pb2 import StringValue

from canopy.events.v1.event_pb2 import Event
from services.chassis.bus import Bus, BusUnavailableError
from tests.conformance.conftest import MAX_DELIVERIES, Harness

PATIENCE = 20.0  # an event that never comes fails the test instead of hanging it


def event(event_type: str = "persons.person.recorded", subject: str = "person/1", text: str = "") -> Event:
    data = Any()
    data.Pack(StringValue(value=text))
    made = Event(id=str(uuid.uuid4()), source="canopy-persons", type=event_type, subject=subject, data=data)
    made.time.FromSeconds(1_796_000_000)
    return made


class Received:
    """A handler that keeps what it was given and can be waited for."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._changed = asyncio.Condition()

    async def __call__(self, event: Event) -> None:
        async with self._changed:
            self.events.append(event)
            self._changed.notify_all()

    @property
    def ids(self) -> list[str]:
        return [event.id for event in self.events]

    async def all_of(self, events: list[Event]) -> None:
        """Wait until every one of them has come at least once."""
        wanted = {event.id for event in events}
        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(lambda: wanted <= set(self.ids))

    async def count(self, number: int) -> None:
        """Wait for a number of deliveries, repeats included."""
        async with asyncio.timeout(PATIENCE), self._changed:
            await self._changed.wait_for(lambda: len(self.events) >= number)


async def publish_until_confirmed(bus: Bus, events: list[Event]) -> None:
    """Repeat as the outbox drainer does."""
    while True:
        try:
            assert await bus.publish(events) == {}
        except BusUnavailableError:
            await asyncio.sleep(0.01)
        else:
            return


async def test_event_arrives_as_it_was_published_and_in_order(harness: Harness) -> None:
    """MSH-12: type, subject, time, source and typed payload travel unchanged."""
    received = Received()
    sent = [event(text=f"{number}") for number in range(20)]
    bus = await harness.bus()

    async with (await harness.bus()).subscribe("audit", ["#"], received):
        assert await bus.publish(sent[:7]) == {}
        assert await bus.publish(sent[7:]) == {}
        await received.all_of(sent)

    assert received.events == sent


async def test_patterns_route_by_the_words_of_the_type(harness: Harness) -> None:
    """MSH-13: wildcard subscribers get every matching event and no other."""
    types = [
        "persons.person.recorded",
        "persons.household.recorded",
        "persons.person.corrected",
        "applications.submitted",
    ]
    sent = [event(event_type) for event_type in types]
    everything, recorded, two = Received(), Received(), Received()
    bus = await harness.bus()

    async with (
        bus.subscribe("everything", ["#"], everything),
        bus.subscribe("recorded", ["persons.*.recorded"], recorded),
        bus.subscribe("two", ["applications.#", "persons.*.corrected"], two),
    ):
        await bus.publish(sent)
        await asyncio.gather(everything.all_of(sent), recorded.all_of(sent[:2]), two.all_of(sent[2:]))

    assert everything.events == sent
    assert recorded.events == sent[:2]
    assert two.events == sent[2:]


async def test_group_receives_what_came_while_it_was_away(harness: Harness) -> None:
    """MSH-13: a group is durable; a consumer that stops misses nothing."""
    received = Received()
    bus = await harness.bus()
    first, while_away = event(), [event(), event()]
    async with bus.subscribe("audit", ["#"], received):
        await bus.publish([first])
        await received.all_of([first])

    await bus.publish(while_away)
    async with bus.subscribe("audit", ["#"], received):
        await received.all_of(while_away)

    assert received.events == [first, *while_away]


async def test_members_of_a_group_share_its_events(harness: Harness) -> None:
    """MSH-13: two consumers of one group work side by side, and each event goes to one of them."""
    both_busy = asyncio.Barrier(2)
    counted = Received()

    async def handler(event: Event) -> None:
        if len(counted.events) < 2:
            await counted(event)
            await both_busy.wait()  # passes only when the other consumer holds an event at the same time
        else:
            await counted(event)

    sent = [event() for _ in range(20)]
    bus = await harness.bus()
    async with (
        bus.subscribe("workers", ["#"], handler),
        (await harness.bus()).subscribe("workers", ["#"], handler),
    ):
        await bus.publish(sent)
        await counted.all_of(sent)

    assert Counter(counted.ids) == Counter(event.id for event in sent)


async def test_event_of_a_consumer_killed_in_its_handler_comes_again(harness: Harness) -> None:
    """MSH-13: an event is settled when the handler has returned, not when it was delivered."""
    received = Received()
    sent = [event(), event()]
    bus = await harness.bus()
    await bus.publish(sent)

    assert await harness.dying_consumer("audit") == -9
    async with bus.subscribe("audit", ["#"], received):
        await received.all_of(sent)

    assert await harness.dead_letters() == 0


@pytest.mark.parametrize("failure", ["raises", "hangs"])
async def test_failed_delivery_comes_again(harness: Harness, failure: str) -> None:
    """MSH-13: a handler that raises or takes too long gets the event once more."""
    received = Received()

    async def handler(event: Event) -> None:
        await received(event)
        if len(received.events) == 1:
            if failure == "hangs":
                await asyncio.Event().wait()
            raise ValueError("Ada Lovelace")

    sent = event()
    bus = await harness.bus()
    async with bus.subscribe("audit", ["#"], handler):
        await bus.publish([sent])
        await received.count(2)

    assert received.events == [sent, sent]
    assert await harness.dead_letters() == 0


async def test_event_that_always_fails_is_set_aside_and_others_flow(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    """MSH-13: after a bounded number of deliveries an event is a dead letter of that group alone."""
    received, other_group = Received(), Received()
    poison, good = event("persons.person.poisoned", text="Ada Lovelace"), event()

    async def handler(event: Event) -> None:
        await received(event)
        if event.type == poison.type:
            raise ValueError("Ada Lovelace")

    bus = await harness.bus()
    async with bus.subscribe("audit", ["#"], handler), bus.subscribe("other", ["#"], other_group):
        await bus.publish([poison, good])
        await received.count(MAX_DELIVERIES + 1)
        await other_group.all_of([poison, good])
        later = event()
        await bus.publish([later])
        await received.all_of([later])

    assert Counter(received.ids) == {poison.id: MAX_DELIVERIES, good.id: 1, later.id: 1}
    assert other_group.events[:2] == [poison, good]
    assert await harness.dead_letters() == 1
    assert "Ada" not in caplog.text


async def test_restart_of_the_server_loses_nothing(harness: Harness) -> None:
    """MSH-13: publisher and consumer reconnect by themselves; what was confirmed before the restart arrives."""
    received = Received()
    bus = await harness.bus()
    before, after = [event() for _ in range(10)], [event() for _ in range(10)]

    async with (await harness.bus()).subscribe("audit", ["#"], received) as consumer:
        await bus.publish(before[:5])
        await received.all_of(before[:5])
        await consumer.stop()
        await bus.publish(before[5:])

    async with (await harness.bus()).subscribe("late", ["applications.#"], received):
        await harness.stop_server()
        with pytest.raises(BusUnavailableError):
            await bus.publish([event()])
        await harness.start_server()

    async with (await harness.bus()).subscribe("audit", ["#"], received) as consumer:
        await received.all_of(before)
        await harness.stop_server()
        await harness.start_server()
        await publish_until_confirmed(bus, after)
        await received.all_of(after)
        assert consumer.running

    assert set(received.ids) >= {event.id for event in before + after}


async def test_refused_event_holds_back_later_events_of_its_subject_only(harness: Harness) -> None:
    """MSH-13: an event the bus cannot take is named, and nothing overtakes it within its subject."""
    received = Received()
    too_large, behind = event(subject="person/1", text="x" * 5_000_000), event(subject="person/1")
    before, elsewhere = event(subject="person/1"), event(subject="person/2")
    bus = await harness.bus()

    async with bus.subscribe("audit", ["#"], received):
        assert await bus.publish([before, too_large, behind, elsewhere]) == {too_large.id: "too_large"}
        await received.all_of([before, elsewhere])

    assert received.events == [before, elsewhere]


async def test_publish_of_nothing_is_confirmed_at_once(harness: Harness) -> None:
    """MSH-13: an empty batch is no error."""
    assert await (await harness.bus()).publish([]) == {}
