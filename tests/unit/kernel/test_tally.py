"""Tallies count for themselves, across tasks, and leave background work out."""

from __future__ import annotations

import asyncio

from services.kernel import tally
from services.kernel.tally import Tally


def test_overlapping_tallies_each_count_their_own_span() -> None:
    """FIN-18: the cost of a part can be taken inside the cost of the whole."""
    with tally.tally() as whole:
        tally.count(rpcs=1)
        with tally.tally() as part:
            tally.count(commits=1, statements=2, round_trips=4)
    tally.count(commits=1)

    assert whole == Tally(commits=1, rpcs=1, statements=2, round_trips=4)
    assert part == Tally(commits=1, rpcs=0, statements=2, round_trips=4)


async def test_work_of_other_tasks_counts_unless_it_stepped_aside() -> None:
    """FIN-18: servers of the same process run in tasks of their own; loops that run anyway are left out."""

    async def serve() -> None:
        tally.count(commits=1)

    async def beat() -> None:
        with tally.uncounted():
            await asyncio.create_task(serve())

    with tally.tally() as counted:
        await asyncio.gather(serve(), serve(), beat())

    assert counted.commits == 2
