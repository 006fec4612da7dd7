"""Bad JSON bodies for any method, made from its contract: one for each field and each way in which it can be wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool

from canopy.options.v1.field_pb2 import Format
from services.cli.stack.edge_routes import Rule
from services.kernel.policy import rest_of, rules_of

# Stands in every bad value, and must stand in no answer and no log.
CANARY: Final = "Kaninchen§4711"
NO_DAYS: Final = ("2026-02-30", "2026-13-01", "0000-00-00", "2026-2-3", "2027-02-29", "9999-12-31", "+2026-01-01")
NO_TEXT: Final = (f"{CANARY}\u0000", f"{CANARY}\u202e", f"{CANARY}\u2066", "\u200b\u200d")
ANY_TEXT: Final = frozenset({Format.FORMAT_UNSPECIFIED, Format.FORMAT_TEXT})
TOO_MANY: Final = 600
STRINGS: Final = frozenset({FieldDescriptor.TYPE_STRING})

# Not the JSON of any message.
NO_BODIES: Final = (
    b"null", b"[]", b"5", b'"Kaninchen"', b"{", b'{"Kaninchen', b"\xff", b'{"a": "\xff"}', b"{}{}", b'{"a":' * 3_000,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A field somewhere in a message."""

    field: FieldDescriptor
    above: tuple[FieldDescriptor, ...]

    @property
    def path(self) -> str:
        """How a refusal names it, in the first item of every list above."""
        above = "".join(f"{field.name}{'[0]' if field.is_repeated else ''}." for field in self.above)
        return above + self.field.name

    def body(self, value: Any) -> dict[str, Any]:
        """Build the smallest body that holds `value` here."""
        built = {self.field.json_name: value}
        for field in reversed(self.above):
            built = {field.json_name: [built] if field.is_repeated else built}
        return built


@dataclass(frozen=True, slots=True, kw_only=True)
class BadBody:
    """A body and the field at fault in it."""

    body: dict[str, Any]
    field: str


class Contract:
    """The messages of a descriptor set."""

    def __init__(self, descriptor_set: bytes) -> None:
        self._pool = DescriptorPool()
        for file in FileDescriptorSet.FromString(descriptor_set).file:
            self._pool.Add(file)

    def body_of(self, rule: Rule) -> Descriptor:
        """Return the message whose JSON a method takes."""
        method: MethodDescriptor = self._pool.FindServiceByName(rule.service).methods_by_name[rule.method]
        typed = rest_of(method).body_message
        return self._pool.FindMessageTypeByName(typed) if typed else method.input_type


def places(message: Descriptor, above: tuple[FieldDescriptor, ...] = ()) -> Iterator[Place]:
    """List every field of a message at any depth."""
    for field in message.fields:
        yield Place(field=field, above=above)
        if field.message_type is not None and field.message_type.file.package.startswith("canopy."):
            yield from places(field.message_type, (*above, field))


def of_another_kind(message: Descriptor) -> Iterator[BadBody]:
    """In each field a value of a JSON kind that it does not have; for an enum also a number and a name of no value."""
    for place in places(message):
        wrong: tuple[Any, ...] = ({CANARY: CANARY},)
        if place.field.message_type is not None or place.field.is_repeated:
            wrong = (CANARY, 4711) if place.field.type not in STRINGS else ({CANARY: CANARY},)
        elif place.field.enum_type is not None:
            wrong = (CANARY, 4711, -1, True)
        elif place.field.type not in STRINGS:
            wrong = (CANARY, f"{1 << 70}", "-", [CANARY])
        for value in wrong:
            yield BadBody(body=place.body(value), field=place.path)


def beyond_a_limit(message: Descriptor) -> Iterator[BadBody]:
    """In each field with a limit a value beyond it: too long, too many, too small, too large."""
    for place in places(message):
        rules = rules_of(place.field)
        item: Any = {} if place.field.message_type is not None else CANARY
        if place.field.enum_type is not None:
            item = place.field.enum_type.values[1].name
        if place.field.is_repeated:
            yield BadBody(body=place.body([item] * TOO_MANY), field=place.path)
        elif place.field.type in STRINGS:
            yield BadBody(body=place.body(CANARY * 200), field=place.path)
        if rules.HasField("max"):
            yield BadBody(body=place.body(rules.max + 1), field=place.path)
        if rules.HasField("min") and rules.min < 0:
            yield BadBody(body=place.body(rules.min - 1), field=place.path)


def misspelled(message: Descriptor) -> Iterator[BadBody]:
    """In each text a spelling that its format does not allow, days that do not exist, characters that are not text."""
    for place in places(message):
        if place.field.type not in STRINGS:
            continue
        form = rules_of(place.field).format
        wrong = [
            *NO_TEXT,
            *([CANARY] if form not in ANY_TEXT else []),
            *(NO_DAYS if form == Format.FORMAT_DATE else ()),
        ]
        for text in wrong:
            value, suffix = ([text], "[0]") if place.field.is_repeated else (text, "")
            yield BadBody(body=place.body(value), field=place.path + suffix)


def with_an_unknown_field(message: Descriptor) -> Iterator[BadBody]:
    """In the message itself and in each one below a field that nobody knows."""
    yield BadBody(body={CANARY: CANARY}, field="")
    for place in places(message):
        if place.field.message_type is not None and place.field.message_type.file.package.startswith("canopy."):
            value, suffix = ([{CANARY: 1}], "[0]") if place.field.is_repeated else ({CANARY: 1}, "")
            yield BadBody(body=place.body(value), field=place.path + suffix)
