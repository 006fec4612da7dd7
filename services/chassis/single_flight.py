"""One piece of work per key at a time: whoever asks meanwhile shares its result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SingleFlight(Generic[K, V]):
    """Runs work in tasks of its own, so that a caller who gives up does not take the work from the others."""

    def __init__(self) -> None:
        self._flights: dict[K, asyncio.Task[V]] = {}

    def start(self, key: K, work: Callable[[], Coroutine[Any, Any, V]]) -> asyncio.Task[V]:
        """Return the task under way for `key`, or begin one. Its failure is kept in it and never reported as unseen."""
        flight = self._flights.get(key)
        if flight is None:
            flight = asyncio.create_task(work())
            self._flights[key] = flight
            flight.add_done_callback(lambda done: self._land(key, done))
        return flight

    def flying(self, key: K) -> bool:
        """Tell whether work of `key` is under way."""
        return key in self._flights

    async def run(self, key: K, work: Callable[[], Coroutine[Any, Any, V]]) -> V:
        """Wait for the work of `key`, begun now or already under way. Raises what the work raises."""
        return await asyncio.shield(self.start(key, work))

    async def close(self) -> None:
        """Cancel what is under way and wait until it has ended."""
        flights = list(self._flights.values())
        for flight in flights:
            flight.cancel()
        await asyncio.gather(*flights, return_exceptions=True)

    def _land(self, key: K, flight: asyncio.Task[V]) -> None:
        del self._flights[key]
        if not flight.cancelled():
            flight.exception()
