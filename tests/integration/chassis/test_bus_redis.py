"""What is particular to the bus on Redis streams: a full stream, what it may forget, an unsafe end of a consumer."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from canopy.events.v1.event_pb2 import Event
from services.chassis import valkey
from services.chassis.bus import BusUnavailableError
from services.chassis.bus_redis import DEAD_STREAM, STREAM, RedisBusConfig, RedisStreamsBus
from services.chassis.valkey import ValkeyClient, ValkeyConfig
from services.cli.stack.valkey import ValkeyServer

PATIENCE = 20.0  # an event that never comes fails the test instead of hanging it


@pytest.fixture
async def client(bus_valkey: ValkeyServer) -> AsyncIterator[ValkeyClient]:
    async with valkey.connect(ValkeyConfig(url=bus_valkey.url(), password=bus_valkey.password)) as opened:
        yield opened


def events(number: int) -> list[Event]:
    return [Event(id=str(uuid.uuid4()), type="persons.person.recorded", subject="person/1") for _ in range(number)]


class Counting:
    """A handler that counts; `done` is set at the given number."""

    def __init__(self, number: int) -> None:
        self._left = number
        self.done = asyncio.Event()

    async def __call__(self, _: Event) -> None:
        self._left -= 1
        if self._left == 0:
            self.done.set()


async def consume(bus: RedisStreamsBus, group: str, number: int) -> None:
    """Let a group handle and settle some events."""
    handler = Counting(number)
    async with asyncio.timeout(PATIENCE), bus.subscribe(group, ["#"], handler):
        await handler.done.wait()


async def test_full_stream_refuses_until_every_group_has_caught_up(client: ValkeyClient) -> None:
    """OPS-12: a slow group makes events wait in the outboxes; it never loses them to a length limit."""
    bus = RedisStreamsBus(client, RedisBusConfig(max_length=5, block_seconds=0.05))
    for group in ("fast", "slow"):
        await client.xgroup_create(STREAM, group, id="0", mkstream=True)
    await bus.publish(events(5))

    await consume(bus, "fast", 5)
    with pytest.raises(BusUnavailableError):
        await bus.publish(events(1))
    await consume(bus, "slow", 4)
    assert await bus.publish(events(1)) == {}

    assert await client.xlen(STREAM) < 5
    await consume(bus, "fast", 1)
    await consume(bus, "slow", 2)


async def test_event_delivered_but_not_settled_is_not_forgotten(client: ValkeyClient) -> None:
    """OPS-12: what a consumer holds is still needed, however far its group has read."""
    bus = RedisStreamsBus(client, RedisBusConfig(max_length=3, block_seconds=0.05))
    await client.xgroup_create(STREAM, "audit", id="0", mkstream=True)
    await bus.publish(events(3))
    await client.xreadgroup("audit", "somebody", {STREAM: ">"}, count=3)

    with pytest.raises(BusUnavailableError):
        await bus.publish(events(1))

    assert await client.xlen(STREAM) == 3


async def test_stream_without_groups_is_bounded(client: ValkeyClient) -> None:
    """OPS-12: events nobody has subscribed to do not stop the publisher."""
    bus = RedisStreamsBus(client, RedisBusConfig(max_length=5))

    for _ in range(4):
        assert await bus.publish(events(3)) == {}

    assert await client.xlen(STREAM) <= 8


@pytest.mark.parametrize("headroom", [0, 300_000])
async def test_full_memory_stores_all_of_a_batch_or_nothing(client: ValkeyClient, headroom: int) -> None:
    """MSH-13: an instance that is out of memory refuses the batch as a whole, so no event overtakes another."""
    bus = RedisStreamsBus(client, RedisBusConfig())
    await bus.publish(events(1))
    batch = [Event(id=event.id, subject=event.subject, traceparent="x" * 50_000) for event in events(30)]
    bound: Any = (await client.config_get("maxmemory"))["maxmemory"]
    await client.config_set("maxmemory", (await client.info("memory"))["used_memory"] + headroom)
    try:
        with contextlib.suppress(BusUnavailableError):
            await bus.publish(batch)
    finally:
        await client.config_set("maxmemory", bound)

    assert await client.xlen(STREAM) in (1, 1 + len(batch))


async def test_event_whose_consumers_all_died_is_set_aside_unhandled(client: ValkeyClient) -> None:
    """MSH-13: an event that kills each consumer that touches it stops coming, though no handler ever reported."""
    config = RedisBusConfig(max_deliveries=2, handler_seconds=0.01, redeliver_seconds=0.02, block_seconds=0.05)
    bus = RedisStreamsBus(client, config)
    await client.xgroup_create(STREAM, "audit", id="0", mkstream=True)
    await bus.publish(events(2))
    await client.xreadgroup("audit", "first to die", {STREAM: ">"}, count=1)
    await client.xautoclaim(STREAM, "audit", "second to die", min_idle_time=0)
    handler = Counting(1)

    async with asyncio.timeout(PATIENCE), bus.subscribe("audit", ["#"], handler):
        await handler.done.wait()
        answer: Any = await client.xread({DEAD_STREAM: "0"}, block=4000)

    [(_, [(_, letter)])] = answer
    assert (letter[b"group"], letter[b"deliveries"], letter[b"error"]) == (b"audit", b"2", b"no_answer")


async def test_consumer_outlives_the_loss_of_its_group(client: ValkeyClient) -> None:
    """MSH-13: after a restore that lost the stream, the running consumer makes its group anew."""
    bus = RedisStreamsBus(client, RedisBusConfig(block_seconds=0.05))
    first, second = Counting(1), Counting(2)

    async def handler(event: Event) -> None:
        await first(event)
        await second(event)

    async with asyncio.timeout(PATIENCE), bus.subscribe("audit", ["#"], handler):
        await bus.publish(events(1))
        await first.done.wait()
        await client.delete(STREAM)
        await bus.publish(events(1))
        await second.done.wait()


async def test_foreign_bytes_in_the_stream_become_a_dead_letter(client: ValkeyClient) -> None:
    """MSH-13: what cannot be read is set aside and holds nothing up."""
    config = RedisBusConfig(max_deliveries=1, block_seconds=0.05)
    bus = RedisStreamsBus(client, config)
    await client.xadd(STREAM, {"event": b"\xff"})
    await bus.publish(events(1))

    await consume(bus, "audit", 1)

    assert await client.xlen(DEAD_STREAM) == 1


def test_redelivery_leaves_time_for_the_handler() -> None:
    """MSH-13: a knob that would hand an event to a second consumer while the first works is refused."""
    assert list(RedisBusConfig().check()) == []
    assert len(list(RedisBusConfig(handler_seconds=20, redeliver_seconds=30).check())) == 1


class Late(ValkeyClient):
    """Whenever an entry is taken over, its former consumer settles it in the next moment."""

    async def xautoclaim(self, name: Any, groupname: Any, *args: Any, **knobs: Any) -> Any:
        answer: Any = await super().xautoclaim(name, groupname, *args, **knobs)
        for entry_id, _ in answer[1]:
            await self.xack(name, groupname, entry_id)
        return answer


async def test_entry_settled_by_its_slow_consumer_while_it_is_taken_over_is_no_failure(
    client: ValkeyClient, caplog: pytest.LogCaptureFixture
) -> None:
    """MSH-13: a consumer that was slow and not dead may settle what another takes over; both simply go on."""
    bus = RedisStreamsBus(
        Late(client.connection_pool, []),  # pyright: ignore[reportArgumentType] -- the pool that `connect` made
        RedisBusConfig(block_seconds=0.05, handler_seconds=0.01, redeliver_seconds=0.02),
    )
    await client.xgroup_create(STREAM, "audit", id="0", mkstream=True)
    await bus.publish(events(1))
    await client.xreadgroup("audit", "slow", {STREAM: ">"})

    handler = Counting(1)
    async with asyncio.timeout(PATIENCE), bus.subscribe("audit", ["#"], handler):
        while (await client.xpending(STREAM, "audit"))["pending"]:
            pass
        await bus.publish(events(1))
        await handler.done.wait()

    assert "worker pass failed" not in caplog.text
