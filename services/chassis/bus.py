"""The event bus: what a publisher and a consumer may rely on, whatever carries the events.

Delivery is at least once. An event may come twice, late, and out of order when its first delivery failed or several
consumers share a group: consumers dedupe by `Event.id` in the transaction of their effect and look entities up instead
of relying on order (FIN-16). The suite in tests/conformance holds every implementation to this page.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, Protocol, TypeAlias

from canopy.events.v1.event_pb2 import Event
from services.chassis.background import Worker

Handler: TypeAlias = Callable[[Event], Awaitable[None]]

_PATTERN: Final = re.compile(r"(?:[a-z0-9_]+|\*|#)(?:\.(?:[a-z0-9_]+|\*|#))*")


class BusUnavailableError(Exception):
    """The bus did not confirm: it cannot be reached, is full, or its answer was lost. Publish the same events again."""


class Bus(Protocol):
    """Carries events from outboxes to groups of consumers."""

    async def publish(self, events: Sequence[Event]) -> Mapping[str, str]:
        """Hand events over in this order; return once the bus has confirmed that it stores them.

        Returns the refused events: id to a reason slug, such as "too_large"; empty when all are stored. Once an event
        is refused, later events of its subject in the same call are not sent (and not in the result).
        Raises BusUnavailableError when nothing is known: any part of the events may have been stored.
        """
        ...

    def subscribe(self, group: str, patterns: Sequence[str], handler: Handler) -> Worker:
        """Return a worker that calls `handler` for each event whose type matches one of the patterns.

        group: a durable name. Each group gets every matching event from its first subscription on; the members of a
        group share them and must give equal patterns. patterns: see `matches`. An event is settled when the handler
        returns. If it raises, takes too long or dies, the event comes again; after a bounded number of deliveries it
        is set aside as a dead letter. The handler of one worker is called for one event at a time.
        Raises ValueError for a malformed pattern.
        """
        ...


def check_patterns(patterns: Sequence[str]) -> tuple[str, ...]:
    """Return the patterns if each is well formed and there is at least one; raise ValueError otherwise."""
    if not patterns or not all(_PATTERN.fullmatch(pattern) for pattern in patterns):
        raise ValueError("patterns are dotted words of a-z, 0-9 and _, where a word may be * or #")
    return tuple(patterns)


def matches(pattern: str, event_type: str) -> bool:
    """Tell whether a dotted type matches a pattern: `*` stands for exactly one word, `#` for any number, also none."""
    return _match(tuple(pattern.split(".")), tuple(event_type.split(".")))


def _match(pattern: tuple[str, ...], words: tuple[str, ...]) -> bool:
    if not pattern:
        return not words
    head, rest = pattern[0], pattern[1:]
    if head == "#":
        return any(_match(rest, words[skipped:]) for skipped in range(len(words) + 1))
    return bool(words) and head in ("*", words[0]) and _match(rest, words[1:])
