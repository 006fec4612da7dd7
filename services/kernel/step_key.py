"""The stable text form of a StepKey (FIN-03): "person/0", "household", "member/0", "income/12".

Receipts and manifests store it, so it never changes.
"""

from __future__ import annotations

import re
from typing import Final

from canopy.persons.v1.step_pb2 import StepKey, StepKind

_WORDS: Final = {
    StepKind.STEP_KIND_PERSON: "person",
    StepKind.STEP_KIND_HOUSEHOLD: "household",
    StepKind.STEP_KIND_MEMBER: "member",
    StepKind.STEP_KIND_INCOME: "income",
}
_KINDS: Final = {word: kind for kind, word in _WORDS.items()}
_TEXT: Final = re.compile(r"(household)|(person|member|income)/(0|[1-9][0-9]{0,2})")


def person(index: int) -> StepKey:
    """Return the key of the step that brings in person `index` of the request."""
    return StepKey(kind=StepKind.STEP_KIND_PERSON, index=index)


def household() -> StepKey:
    """Return the key of the step that brings in the household."""
    return StepKey(kind=StepKind.STEP_KIND_HOUSEHOLD)


def member(index: int) -> StepKey:
    """Return the key of the step that makes person `index` of the request a member."""
    return StepKey(kind=StepKind.STEP_KIND_MEMBER, index=index)


def income(index: int) -> StepKey:
    """Return the key of the step that brings in income `index` of the request."""
    return StepKey(kind=StepKind.STEP_KIND_INCOME, index=index)


def to_text(key: StepKey) -> str:
    """Spell a key. Raises ValueError for one that names no step: no kind, or a household with a position."""
    word = _WORDS.get(key.kind)
    if word is None or key.index > 999 or (word == "household" and key.index):
        raise ValueError("no step has this key")
    return word if word == "household" else f"{word}/{key.index}"


def from_text(text: str) -> StepKey:
    """Read the spelling of `to_text`. Raises ValueError, without the text, for anything else."""
    match = _TEXT.fullmatch(text)
    if match is None:
        raise ValueError("not the text form of a step key")
    return household() if match[1] else StepKey(kind=_KINDS[match[2]], index=int(match[3]))
