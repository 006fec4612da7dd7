"""Compiles the field options of a message type into one check per field; fields.py says what the options mean.

Done once per type, on first use. Checking a message that is in order then builds no path: only set fields are visited,
and a path is put together on the way back up from a violation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeAlias

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from canopy.options.v1.field_pb2 import Field, Format
from services.kernel import formats, text
from services.kernel.descriptors import map_key, map_value, message_type
from services.kernel.errors import Violation
from services.kernel.policy import rules_of

MAX_VIOLATIONS: Final = 50
DEFAULT_MAX_CHARACTERS: Final = 1_000
DEFAULT_MAX_NAME: Final = 100
DEFAULT_MAX_BYTES: Final = 1 << 20
DEFAULT_MAX_ITEMS: Final = 500

Check: TypeAlias = Callable[[Any], Sequence[Violation]]

_FINE: Sequence[Violation] = ()
_FLOATS: Final = frozenset({FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE})


@cache
def check_of(descriptor: Descriptor) -> Check:
    """Compile a message type."""
    match descriptor.full_name:
        case "google.protobuf.Timestamp":
            return _timestamp
        case "google.protobuf.Duration":
            return _duration
        case _:
            return _MessageCheck(descriptor)


class _MessageCheck:
    """The checks of one message type, by field number."""

    __slots__ = ("_checks", "_needed")

    def __init__(self, descriptor: Descriptor) -> None:
        self._checks: Mapping[int, Check] = {field.number: _field_check(field) for field in descriptor.fields}
        self._needed = tuple(_needed(descriptor))

    def __call__(self, message: Message) -> Sequence[Violation]:
        found: list[Violation] = []
        present: set[int] = set()
        for field, value in message.ListFields():
            number = field.number
            present.add(number)
            if broken := self._checks[number](value):
                found.extend(broken)
                if len(found) >= MAX_VIOLATIONS:
                    return found
        for numbers, violation in self._needed:
            if present.isdisjoint(numbers):
                found.append(violation)
        return found


def _needed(descriptor: Descriptor) -> Iterator[tuple[frozenset[int], Violation]]:
    """Say which fields, or which oneofs, must be set, and what is broken when none of the numbers is."""
    for oneof in descriptor.oneofs:
        if len(oneof.fields) > 1 and any(rules_of(member).required for member in oneof.fields):
            yield frozenset(member.number for member in oneof.fields), Violation(field=oneof.name, rule="required")
    for field in descriptor.fields:
        rules = rules_of(field)
        alone = frozenset({field.number})
        if field.containing_oneof is not None and len(field.containing_oneof.fields) > 1:
            continue
        if rules.required:
            yield alone, Violation(field=field.name, rule="required")
        elif field.is_repeated and rules.min_items:
            yield alone, Violation(field=field.name, rule="min_items")
        elif not field.is_repeated and not field.has_presence and (broken := _zero_breaks(field, rules)):
            yield alone, broken


def _zero_breaks(field: FieldDescriptor, rules: Field) -> Violation | None:
    """Tell what the zero of a number without presence breaks: it is a value, though it is not on the wire."""
    if rules.HasField("min") and rules.min > 0:
        return Violation(field=field.name, rule="min")
    if rules.HasField("max") and rules.max < 0:
        return Violation(field=field.name, rule="max")
    return None


def _field_check(field: FieldDescriptor) -> Check:
    rules = rules_of(field)
    if (key := map_key(field)) and (value := map_value(field)):
        return _map_check(field.name, rules, _value_check(key, Field(), as_item=True), _value_check(value, rules))
    if field.is_repeated:
        return _list_check(field.name, rules, _value_check(field, rules, as_item=True))
    return _named(field.name, _value_check(field, rules))


def _named(name: str, check: Check) -> Check:
    """Put the field's name before the path of every violation of its value."""

    def named(value: Any) -> Sequence[Violation]:
        return [_under(name, violation) for violation in broken] if (broken := check(value)) else _FINE

    return named


def _under(prefix: str, violation: Violation) -> Violation:
    return Violation(field=f"{prefix}.{violation.field}" if violation.field else prefix, rule=violation.rule)


def _list_check(name: str, rules: Field, check_item: Check) -> Check:
    fewest, most, unique = rules.min_items, rules.max_items or DEFAULT_MAX_ITEMS, rules.unique

    def check_list(values: Sequence[Any]) -> Sequence[Violation]:
        if len(values) > most:
            return [Violation(field=name, rule="max_items")]  # and its items go unread: that is the point of the limit
        found = [Violation(field=name, rule="min_items")] if len(values) < fewest else []
        for index, value in enumerate(values):
            if broken := check_item(value):
                found.extend(_under(f"{name}[{index}]", violation) for violation in broken)
                if len(found) >= MAX_VIOLATIONS:
                    return found
        if unique:
            found.extend(Violation(field=f"{name}[{index}]", rule="unique") for index in _repeats(values))
        return found

    return check_list


def _repeats(values: Sequence[Any]) -> Iterator[int]:
    """Yield the index of every item that equals an earlier one."""
    seen: set[Any] = set()
    for index, value in enumerate(values):
        key = value.SerializeToString(deterministic=True) if isinstance(value, Message) else value
        if key in seen:
            yield index
        seen.add(key)


def _map_check(name: str, rules: Field, check_key: Check, check_value: Check) -> Check:
    """Check a map. Its violations name the field only: a key is a value that was sent."""
    fewest, most = rules.min_items, rules.max_items or DEFAULT_MAX_ITEMS

    def check_map(values: Mapping[Any, Any]) -> Sequence[Violation]:
        if not fewest <= len(values) <= most:
            return [Violation(field=name, rule="max_items" if len(values) > most else "min_items")]
        rules_broken = {violation.rule for key in values for violation in (*check_key(key), *check_value(values[key]))}
        if any(isinstance(key, str) and text.nfc(key) != key for key in values):
            rules_broken.add("nfc")  # keys are not normalised on arrival: two of them could become one
        return [Violation(field=name, rule=rule) for rule in sorted(rules_broken)]

    return check_map


def _value_check(field: FieldDescriptor, rules: Field, *, as_item: bool = False) -> Check:
    """Choose the check of one value. as_item: in a list, where the unset value of a type is one that says nothing."""
    needed = as_item or rules.required
    match field.type:
        case FieldDescriptor.TYPE_STRING:
            return _string_check(rules, needed)
        case FieldDescriptor.TYPE_BYTES:
            return _sized(rules.min_size, rules.max_size or DEFAULT_MAX_BYTES, needed)
        case FieldDescriptor.TYPE_ENUM:
            return _enum_check(field, needed)
        case FieldDescriptor.TYPE_MESSAGE:
            return _nested(message_type(field))
        case FieldDescriptor.TYPE_BOOL:
            return lambda _value: _FINE
        case kind:
            return _number_check(rules, may_be_unreal=kind in _FLOATS)


def _broken(rule: str) -> Sequence[Violation]:
    return (Violation(field="", rule=rule),)


def _sized(fewest: int, most: int, needed: bool) -> Check:
    too_few, too_many, missing = _broken("min_size"), _broken("max_size"), _broken("required")

    def check_size(value: str | bytes) -> Sequence[Violation]:
        if not value:
            return missing if needed else _FINE
        if len(value) > most:
            return too_many
        return too_few if len(value) < fewest else _FINE

    return check_size


def _string_check(rules: Field, needed: bool) -> Check:
    default = DEFAULT_MAX_NAME if rules.format == Format.FORMAT_NAME else DEFAULT_MAX_CHARACTERS
    check_size = _sized(rules.min_size, rules.max_size or default, needed)
    lines = rules.format == Format.FORMAT_TEXT
    spelt = formats.CHECKS.get(rules.format)
    misspelt = _broken(formats.slug(rules.format))

    def check_string(value: str) -> Sequence[Violation]:
        if not value:
            return check_size(value)
        if broken := check_size(value) or _text_breaks(value, lines):
            return broken
        return misspelt if spelt is not None and not spelt(value) else _FINE

    return check_string


def _text_breaks(value: str, lines: bool) -> Sequence[Violation]:
    rule = text.broken_rule(value, lines=lines)
    return _broken(rule) if rule else _FINE


def _enum_check(field: FieldDescriptor, needed: bool) -> Check:
    known = frozenset(field.enum_type.values_by_number if field.enum_type else ())
    missing, unknown = _broken("required"), _broken("unknown_enum")

    def check_enum(number: int) -> Sequence[Violation]:
        if number == 0 and needed:
            return missing
        return _FINE if number in known else unknown

    return check_enum


def _number_check(rules: Field, *, may_be_unreal: bool) -> Check:
    lowest = rules.min if rules.HasField("min") else -math.inf
    highest = rules.max if rules.HasField("max") else math.inf
    too_low, too_high, unreal = _broken("min"), _broken("max"), _broken("finite")

    def check_number(value: float) -> Sequence[Violation]:
        if may_be_unreal and not math.isfinite(value):
            return unreal
        if value < lowest:
            return too_low
        return too_high if value > highest else _FINE

    return check_number


def _nested(descriptor: Descriptor) -> Check:
    """Look the check of a nested type up when it is first met: a type may contain itself."""

    def check_nested(message: Message) -> Sequence[Violation]:
        return check_of(descriptor)(message)

    return check_nested


def _timestamp(value: Any) -> Sequence[Violation]:
    """Years 1 to 9999, as timestamp.proto says."""
    inside = -62_135_596_800 <= value.seconds <= 253_402_300_799 and 0 <= value.nanos <= 999_999_999
    return _FINE if inside else _broken("timestamp_range")


def _duration(value: Any) -> Sequence[Violation]:
    """About 10,000 years either way, seconds and nanos of one sign, as duration.proto says."""
    inside = abs(value.seconds) <= 315_576_000_000 and abs(value.nanos) <= 999_999_999
    return _FINE if inside and value.seconds * value.nanos >= 0 else _broken("duration_range")
