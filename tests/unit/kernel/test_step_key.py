"""Text forms of step keys."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canopy.persons.v1.step_pb2 import StepKey, StepKind
from services.kernel import step_key

KEYS = st.one_of(
    st.builds(step_key.person, st.integers(0, 999)),
    st.just(step_key.household()),
    st.builds(step_key.member, st.integers(0, 999)),
    st.builds(step_key.income, st.integers(0, 999)),
)


def test_spellings_are_fixed() -> None:
    """FIN-03: receipts and manifests of every release hold these texts."""
    keys = [step_key.person(0), step_key.household(), step_key.member(7), step_key.income(12)]

    assert [step_key.to_text(key) for key in keys] == ["person/0", "household", "member/7", "income/12"]


@given(KEYS)
def test_text_and_key_are_one_to_one(key: StepKey) -> None:
    """FIN-03: reading what was spelled gives the key again."""
    assert step_key.from_text(step_key.to_text(key)) == key


@pytest.mark.parametrize(
    "text", ["", "person", "person/", "person/01", "person/-1", "person/1000", "household/0", "x/1"]
)
def test_other_spellings_are_refused(text: str) -> None:
    """FIN-03: one key has one text, so that texts can be compared."""
    with pytest.raises(ValueError, match="not the text form"):
        step_key.from_text(text)


@pytest.mark.parametrize(
    "key",
    [
        StepKey(),
        StepKey(kind=StepKind.STEP_KIND_HOUSEHOLD, index=1),
        StepKey(kind=StepKind.STEP_KIND_PERSON, index=1000),
    ],
)
def test_keys_of_no_step_have_no_text(key: StepKey) -> None:
    """FIN-03: what cannot be a step is not given a name."""
    with pytest.raises(ValueError, match="no step"):
        step_key.to_text(key)
