"""The field options of the contract, rule by rule."""

from __future__ import annotations

from typing import Any

import pytest

from canopy.errors.v1.reason_pb2 import Reason
from services.kernel import fields
from services.kernel.errors import Refusal, invalid
from tests.probe import pb

A_UUID = "0190a6e4-5b1c-4c6e-9f0e-3a2b1c4d5e6f"
B_UUID = "0190a6e4-5b1c-4c6e-9f0e-3a2b1c4d5e70"
PERSON = {"name": {"given": "Ana"}}


def sample(**values: Any) -> Any:
    """Build a Sample that keeps its contract, changed by `values`; None clears a field."""
    sound = {"ids": [A_UUID], "position": 1, "count": 0, "text": "t", "favourite": 1}
    if "person" in values:
        del sound["text"]
    return pb.Sample(**{name: value for name, value in (sound | values).items() if value is not None})


def broken(message: Any) -> set[tuple[str, str]]:
    return {(violation.field, violation.rule) for violation in fields.violations(message)}


def test_sound_message_breaks_nothing() -> None:
    """MSH-08: a message that keeps its contract has no violation."""
    full = sample(
        note="two\nlines",
        label="x" * 1000,
        short="abcd",
        blob=b"abcd",
        colour=2,
        colours=[1, 2],
        ids=[A_UUID, B_UUID],
        cents=-5,
        ratio=0.5,
        people=[PERSON, {"name": {"given": "Ben"}, "children": [PERSON]}],
        tags={"a": "b"},
        named={"a": PERSON},
        at={"seconds": 1},
        during={"seconds": -1, "nanos": -1},
        passcode="0000-0000-0000",
        aliases=["x"] * 500,
    )
    assert broken(full) == set()


@pytest.mark.parametrize(
    ("changed", "field", "rule"),
    [
        ({"ids": None}, "ids", "min_items"),
        ({"ids": [A_UUID, B_UUID, "x", "y"]}, "ids", "max_items"),
        ({"ids": [A_UUID, A_UUID]}, "ids[1]", "unique"),
        ({"ids": [A_UUID, "x"]}, "ids[1]", "format_uuid"),
        ({"ids": [A_UUID, ""]}, "ids[1]", "required"),
        ({"aliases": ["x"] * 501}, "aliases", "max_items"),
        ({"short": "a"}, "short", "min_size"),
        ({"short": "abcde"}, "short", "max_size"),
        ({"label": "x" * 1001}, "label", "max_size"),
        ({"label": "two\nlines"}, "label", "control_character"),
        ({"note": "a\tb"}, "note", "control_character"),
        ({"note": "a\u202eb"}, "note", "bidi_control"),
        ({"note": "\u200b\u2060"}, "note", "blank"),
        ({"blob": b"a"}, "blob", "min_size"),
        ({"blob": b"abcde"}, "blob", "max_size"),
        ({"large": b"x" * ((1 << 20) + 1)}, "large", "max_size"),
        ({"colour": 99}, "colour", "unknown_enum"),
        ({"colours": [1, 99]}, "colours[1]", "unknown_enum"),
        ({"colours": [1, 0]}, "colours[1]", "required"),
        ({"colours": [1, 2, 1]}, "colours[2]", "unique"),
        ({"favourite": 0}, "favourite", "required"),
        ({"favourite": 7}, "favourite", "unknown_enum"),
        ({"cents": 6}, "cents", "max"),
        ({"cents": -6}, "cents", "min"),
        ({"position": 0}, "position", "min"),
        ({"count": None}, "count", "required"),
        ({"ratio": float("nan")}, "ratio", "finite"),
        ({"ratio": float("-inf")}, "ratio", "finite"),
        ({"text": None}, "choice", "required"),
        ({"text": ""}, "text", "required"),
        ({"person": {}}, "person.name", "required"),
        ({"people": [PERSON, {"name": {"given": "<9>"}}]}, "people[1].name.given", "format_name"),
        ({"people": [{"name": {}}]}, "people[0].name.given", "required"),
        ({"people": [{**PERSON, "children": [PERSON, {}]}]}, "people[0].children[1].name", "required"),
        ({"people": [PERSON, PERSON]}, "people[1]", "unique"),
        ({"tags": {"a": "too long"}}, "tags", "max_size"),
        ({"tags": {"e\u0301": "b"}}, "tags", "nfc"),
        ({"tags": {"\u0007": "b"}}, "tags", "control_character"),
        ({"tags": {"": "b"}}, "tags", "required"),
        ({"tags": {str(n): "b" for n in range(501)}}, "tags", "max_items"),
        ({"named": {"a": {}}}, "named", "required"),
        ({"at": {"seconds": 253_402_300_800}}, "at", "timestamp_range"),
        ({"at": {"nanos": -1}}, "at", "timestamp_range"),
        ({"during": {"seconds": 1, "nanos": -1}}, "during", "duration_range"),
        ({"during": {"seconds": 315_576_000_001}}, "during", "duration_range"),
    ],
)
def test_each_rule_names_its_field(changed: dict[str, Any], field: str, rule: str) -> None:
    """MSH-08: one thing broken gives one violation: a path in proto names with indices, and a stable rule."""
    assert broken(sample(**changed)) == {(field, rule)}


@pytest.mark.parametrize("name", ["note", "label", "short", "blob", "colour", "colours", "ratio", "people", "passcode"])
def test_unset_fields_break_nothing(name: str) -> None:
    """MSH-08: empty is unset, and unset is fine where the contract does not require it."""
    assert broken(sample(**{name: None})) == set()


def test_all_violations_are_collected_up_to_fifty() -> None:
    """MSH-08: every broken field is named, but an attacker's thousandth is not."""
    people = [{"name": {"given": "9", "family": str(n)}, "birth_date": "-"} for n in range(400)]
    many = sample(people=people, favourite=None)
    some = sample(short="a", cents=9, people=[{"birth_date": "2026-02-30"}])

    assert len(fields.violations(many)) == 50
    assert broken(some) == {
        ("short", "min_size"),
        ("cents", "max"),
        ("people[0].name", "required"),
        ("people[0].birth_date", "format_date"),
    }


def test_refusal_of_a_message_names_the_first_violation() -> None:
    """MSH-08: metadata has the first field and rule, the violations have all."""
    found = fields.violations(sample(short="a", cents=9))
    refusal = invalid(*found)

    assert refusal.metadata == {"field": "short", "rule": "min_size"}
    assert list(refusal.violations) == found


FORMATS = {
    "uuid": ([A_UUID], [A_UUID.upper(), A_UUID[:-1], A_UUID.replace("-", ""), f"{A_UUID}\n"]),
    "date": (
        ["2024-02-29", "1850-01-01", "2200-12-31"],
        ["2023-02-29", "1849-12-31", "2201-01-01", "2024-2-9", "2024-13-01", "٢٠٢٤-01-01", "2024-02-29T00"],
    ),
    "month": (["2026-12"], ["2026-13", "2026-00", "2026-1", "1849-01"]),
    "year": (["1850", "2200"], ["1849", "2201", "26", "२०२६"]),
    "application_code": (["HH-0a1b2c3d"], ["HH-0A1B2C3D", "HH-0a1b2c3", "hh-0a1b2c3d", "HH-0a1b2c3g"]),
    "passcode": (["0000-1234-9999"], ["000012349999", "0000-1234-999a", "0000-1234-99999"]),
    "name": (
        [
            *("O'Brien", "D’Angelo", "Kaʼiulani", "Núñez-Peña", "J. R.", "Gal·la", "X", "x" * 100, "Ng", "e\u0301"),
            *("李小龍", "Ольга", "محمد", "मनीष", "می\u200cنا", "ジャン・ポール"),
            *("3rd", "Jr., Esq.", "Jennifer 8.", "Raj a/l Kumar", "Lim @ Ong", "1069", "!Xóõ"),
        ],
        ["", " ", ".", "-", "@", "!", "a;b", "a\tb", "a\u200c", "\u00b7a", "x" * 101, "<b>", "a\u202eb", "\u200b"],
    ),
    "text": (["any 1 <text>\n\u200eأ"], ["\x00", "a\rb", "a\u2066b", "\u200d", "\n \n", "a\x85", "a\u2028b"]),
    "language": (["es", "zh-Hant", "pt-BR", "hmn"], ["e", "en_US", "english", "en-"]),
    "nine_digits": (["123456789"], ["12345678", "123-45-6789", "１２３４５６７８９"]),
    "zip": (["12345", "12345-6789"], ["1234", "123456789", "12345-"]),
    "state": (["CA", "DC", "PR", "VI"], ["ca", "XX", "CAL", "C"]),
    "fips_county": (["06037"], ["6037", "060371"]),
    "phone": (["+14155550100"], ["4155550100", "+04155550100", "+1415555", "+1415555010012345"]),
    "email": (
        ["a@b.org", "first.last+tag@mail.example.co"],
        ["a@b", "a b@c.org", "@b.org", "a@-b.org", "a@b..org", f"{'a' * 65}@b.org", "a@" + "b." * 130 + "org"],
    ),
    "slug": (["snap", "medicaid-magi-2"], ["SNAP", "a--b", "-a", "a_b"]),
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, (good, _) in FORMATS.items() for text in good])
def test_format_accepts(name: str, text: str) -> None:
    """APP-05: each format takes what its comment in the contract promises."""
    assert broken(pb.Formats(**{name: text})) == set()


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, (_, bad) in FORMATS.items() for text in bad if text])
def test_format_refuses(name: str, text: str) -> None:
    """APP-05: each format refuses what is not spelt so, with one violation on its field."""
    [violation] = fields.violations(pb.Formats(**{name: text}))

    assert violation.field == name
    assert violation.rule in {f"format_{name}", "control_character", "bidi_control", "blank", "max_size"}


def test_unknown_fields_are_found_at_any_depth_and_kept() -> None:
    """FIN-09: the check works by bytes, and does not change the message it looks at."""
    newer = pb.NewerAsk(word="a", name=pb.Name(given="Ana"), extra="more").SerializeToString()
    within = pb.Sample(person=pb.Person.FromString(b"\x12\x05\x0a\x01X\x78\x01"), named={"k": pb.Person()})

    top = pb.Ask.FromString(newer)
    assert fields.has_unknown_fields(top)
    assert top.SerializeToString(deterministic=True) == newer
    assert fields.path_of_unknown_field(top) == ""
    assert fields.has_unknown_fields(within)
    assert fields.path_of_unknown_field(within) == "person.name"
    assert not fields.has_unknown_fields(pb.Ask(word="a"))


@pytest.mark.parametrize(
    ("sample_with_unknown", "path"),
    [
        (pb.Sample(people=[pb.Person(), pb.Person.FromString(b"\x78\x01")]), "people[1]"),
        (pb.Sample(named={"secret-key": pb.Person.FromString(b"\x78\x01")}), "named"),
    ],
)
def test_place_of_an_unknown_field_is_told_without_keys(sample_with_unknown: Any, path: str) -> None:
    """MSH-08: lists by index, maps by their name alone, since a key was sent."""
    assert fields.path_of_unknown_field(sample_with_unknown) == path


def test_unknown_fields_come_before_other_violations() -> None:
    """FIN-09: a newer message is told apart from a broken one."""
    newer = pb.NewerAsk(word="x" * 21, extra="more").SerializeToString()
    with pytest.raises(Refusal) as caught:
        fields.require_contract(pb.Ask.FromString(newer))

    assert caught.value.reason == Reason.REASON_UNKNOWN_FIELD


def test_a_broken_field_is_named_from_where_its_message_stands() -> None:
    """MSH-08: the path begins with that of the message, whose text is in form C from then on."""
    ask = pb.Ask(word="e\u0301")
    fields.require_contract(ask, "asks[2]")
    assert ask.word == "\u00e9"

    with pytest.raises(Refusal) as caught:
        fields.require_contract(pb.Ask(word="x" * 21), "asks[2]")

    assert caught.value.metadata == {"field": "asks[2].word", "rule": "max_size"}
