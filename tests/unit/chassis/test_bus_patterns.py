"""Routing patterns of the event bus."""

from __future__ import annotations

import pytest

from services.chassis.bus import check_patterns, matches


@pytest.mark.parametrize(
    ("pattern", "event_type", "expected"),
    [
        ("persons.person.recorded", "persons.person.recorded", True),
        ("persons.person.recorded", "persons.person.corrected", False),
        ("persons.*.recorded", "persons.household.recorded", True),
        ("persons.*.recorded", "persons.recorded", False),
        ("persons.*.recorded", "persons.a.b.recorded", False),
        ("#", "applications.submitted", True),
        ("persons.#", "persons", True),
        ("persons.#", "persons.person.recorded", True),
        ("persons.#", "personsx.person", False),
        ("#.recorded", "recorded", True),
        ("#.recorded", "persons.person.recorded", True),
        ("persons.#.recorded", "persons.recorded", True),
        ("persons.#.recorded", "persons.a.b.recorded", True),
        ("persons.#.recorded", "persons.a.b", False),
        ("#.#", "persons", True),
        ("*.*", "persons", False),
    ],
)
def test_pattern_matches_words_not_letters(pattern: str, event_type: str, *, expected: bool) -> None:
    """MSH-13: `*` is exactly one word, `#` any number of words, as in a topic exchange."""
    assert matches(pattern, event_type) is expected


@pytest.mark.parametrize("pattern", ["", "persons.", ".persons", "persons..recorded", "Persons", "persons.*x", "a b"])
def test_malformed_pattern_is_refused(pattern: str) -> None:
    """MSH-13: a pattern that could never match is a mistake at start, not a silent consumer."""
    with pytest.raises(ValueError, match="dotted words"):
        check_patterns(["persons.#", pattern])


def test_no_pattern_is_refused() -> None:
    """MSH-13: a subscription to nothing is a mistake too."""
    with pytest.raises(ValueError, match="dotted words"):
        check_patterns([])
