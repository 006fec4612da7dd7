"""Steps in every order and every cut into batches."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from canopy.errors.v1.reason_pb2 import Reason
from canopy.persons.v1.household_pb2 import PersonRef
from canopy.persons.v1.households_service_pb2 import HouseholdState
from tests import persons as build
from tests.mesh import refused
from tests.persons import RunningPersons, ids_by_key

FILING = [
    build.person_step(0, build.person("A")),
    build.person_step(1, build.person("B")),
    build.household_step(),
    build.member_step(0, build.membership(build.parent_of(1))),
    build.member_step(1),
    build.income_step(0, of=PersonRef(index=1)),
]
NEEDS = {3: {0, 1, 2}, 4: {1, 2}, 5: {1}}


def shape(state: HouseholdState, names: dict[str, str]) -> Any:
    """Describe a household without ids and instants: what is equal for equal filings."""
    return (
        state.details.home.city,
        sorted(
            (names[member.person_id], [names[tie.to.person_id] for tie in member.details.ties])
            for member in state.members
        ),
        [(names[income.person_id], income.details.amount_cents) for income in state.incomes],
    )


def respectful(order: list[int]) -> list[int]:
    """Put steps off until those that they need have come, and otherwise keep their order."""
    ready: list[int] = []
    while len(ready) < len(order):
        ready.append(next(index for index in order if index not in ready and NEEDS.get(index, set()) <= set(ready)))
    return ready


ORDERS = st.permutations(range(len(FILING)))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=ORDERS | ORDERS.map(respectful), cuts=st.sets(st.integers(1, len(FILING) - 1)))
async def test_steps_in_any_order_give_the_same_graph_or_a_refusal(
    service: RunningPersons, order: list[int], cuts: set[int]
) -> None:
    """FIN-18: whatever the order and the batches: the same graph, or a refusal that leaves nothing of its batch."""
    filing, ids = await service.begin(), dict[str, str]()
    bounds = [0, *sorted(cuts), len(FILING)]
    for start, end in itertools.pairwise(bounds):
        batch = order[start:end]
        steps = [FILING[index] for index in batch]
        known = set(order[:start])
        in_order = all(NEEDS.get(index, set()) <= known | set(batch[:place]) for place, index in enumerate(batch))
        receipts = (await filing.status()).receipts
        if not in_order:
            with refused(Reason.REASON_STEP_UNKNOWN):
                await filing.apply(*steps)
            assert (await filing.status()).receipts == receipts
            return
        ids |= ids_by_key(steps, await filing.apply(*steps))

    state = (await service.household(ids["household"])).state
    names = {ids["person/0"]: "A", ids["person/1"]: "B"}
    assert shape(state, names) == ("Albany", [("A", ["B"]), ("B", [])], [("B", 120_000)])
