"""Text rules as properties: whatever is typed, what is let through is clean, and what is clean is let through."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from services.kernel import fields, text
from tests.probe import pb

BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
CONTROLS = "".join(chr(code) for code in (*range(0x20), *range(0x7F, 0xA0)))
ZERO_WIDTH = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\u180e\u200e\u200f\u061c\ufe0f\u3164\u115f\U000e0020"
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
LETTERS = st.text(st.characters(categories=["Lu", "Ll", "Lt", "Lm", "Lo"]), min_size=1, max_size=40)


def name_breaks(value: str) -> list[str]:
    return [violation.rule for violation in fields.violations(pb.Formats(name=value))]


@given(before=ANY_TEXT, bad=st.sampled_from(BIDI + CONTROLS + "\u2028\u2029"), after=ANY_TEXT)
def test_one_forbidden_character_anywhere_is_found(before: str, bad: str, after: str) -> None:
    """APP-05: no surrounding text hides a control or a bidirectional override."""
    assert text.broken_rule(before + bad + after) in {"control_character", "bidi_control"}


@given(st.text(st.sampled_from(ZERO_WIDTH + " \u00a0\u3000"), min_size=1))
def test_text_that_shows_nothing_is_blank(value: str) -> None:
    """APP-05: spaces and zero-width characters alone are no text."""
    assert text.broken_rule(value) == "blank"


@given(LETTERS.filter(lambda value: not set(value) & set(ZERO_WIDTH + "\u1160\uffa0")))
@example("محمد")
@example("ʻokina")
def test_letters_of_any_script_are_a_name(value: str) -> None:
    """APP-05: names keep every script."""
    assert name_breaks(value) == []


@given(ANY_TEXT.filter(bool))
def test_accepted_name_is_made_of_letters_and_what_joins_them(value: str) -> None:
    """APP-05: what passes as a name has a letter or digit, and neither symbols nor anything that hides."""
    if name_breaks(value):
        return
    categories = {unicodedata.category(character) for character in value}
    assert any(category[0] in "LMN" for category in categories)
    assert not any(category[0] == "S" for category in categories)
    assert not set(value) & set(BIDI + CONTROLS)


@given(ANY_TEXT)
def test_line_feeds_are_all_that_free_text_allows_more(value: str) -> None:
    """APP-05: free text and a label differ in line feeds only."""
    without = value.replace("\n", "")
    if without:
        assert text.broken_rule(without, lines=True) == text.broken_rule(without)
    if "\n" in value:
        assert text.broken_rule(value) == "control_character"


@given(ANY_TEXT, st.lists(ANY_TEXT, max_size=3), ANY_TEXT)
def test_normalising_reaches_every_string_and_is_final(word: str, items: list[str], deep: str) -> None:
    """FIN-09: after one pass every string at any depth is in form C, and a second pass changes nothing."""
    message = pb.Sample(
        text=word,
        aliases=items,
        people=[{"name": {"given": deep}, "children": [{"name": {"family": deep}}]}],
        tags={"k": word},
        named={"k": {"name": {"given": deep}}},
        blob=deep.encode(),
    )
    text.normalise(message)
    once = message.SerializeToString(deterministic=True)
    text.normalise(message)

    c = text.nfc
    assert message.SerializeToString(deterministic=True) == once
    assert (message.text, list(message.aliases), message.tags["k"]) == (c(word), [c(item) for item in items], c(word))
    assert message.people[0].name.given == message.people[0].children[0].name.family == c(deep)
    assert message.named["k"].name.given == c(deep)
    assert message.blob == deep.encode()


@pytest.mark.parametrize(("typed", "stored"), [("e\u0301", "\u00e9"), ("\u212b", "\u00c5"), ("plain", "plain")])
def test_form_c_is_what_is_stored(typed: str, stored: str) -> None:
    """APP-05: what looks the same is stored the same."""
    assert text.nfc(typed) == stored
