"""What the field options of the contract (protos/canopy/options/v1/field.proto) mean for a message and for a log line.

- Unset is an empty string or bytes, a zero enum, an absent message or optional, an empty list; also the zero of a
  number without presence. What is unset breaks no rule but `required` and `min_items`, and, for a number without
  presence, `min` and `max`: a contract that must tell absent from zero says `optional`.
- `required` on a member of a oneof says that one of the members must be set; the violation names the oneof.
- An item of a list is a value: it must be set, whether or not the list is required.
- A string holds clean text (services/kernel/text.py) whatever its format, at most 1,000 characters (a name: 100); bytes
  are at most 1 MiB; a list or map has at most 500 items; each unless the contract says otherwise.
- A number of an enum that the contract does not name is refused, and so are NaN and the infinities.
- google.protobuf.Timestamp and Duration lie in their documented range.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from services.kernel.descriptors import map_value
from services.kernel.errors import Violation
from services.kernel.field_checks import MAX_VIOLATIONS, check_of
from services.kernel.policy import rules_of

REDACTED = "[redacted]"


def violations(message: Message) -> list[Violation]:
    """List what in `message`, at any depth, breaks its contract: at most 50, absent fields last, no sent value."""
    return list(check_of(message.DESCRIPTOR)(message))[:MAX_VIOLATIONS]


def has_unknown_fields(message: Message) -> bool:
    """Tell whether `message`, at any depth, holds a field that this version of the contract does not know."""
    before = message.SerializeToString(deterministic=True)
    message.DiscardUnknownFields()
    if message.SerializeToString(deterministic=True) == before:
        return False
    message.ParseFromString(before)
    return True


def path_of_unknown_field(message: Message) -> str:
    """Return the path of the first message in `message` that holds an unknown field; "" for the message itself."""
    return next(_paths_of_unknown_fields(message, ""), "")


def _paths_of_unknown_fields(message: Message, path: str) -> Iterator[str]:
    if len(UnknownFieldSet(message)):
        yield path
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        here = f"{path}.{field.name}" if path else field.name
        if map_value(field):
            for entry in value.values():
                if isinstance(entry, Message):
                    yield from _paths_of_unknown_fields(entry, here)
        elif field.is_repeated:
            for index, item in enumerate(value):
                yield from _paths_of_unknown_fields(item, f"{here}[{index}]")
        else:
            yield from _paths_of_unknown_fields(value, here)


@cache
def personal_paths(descriptor: Descriptor) -> tuple[str, ...]:
    """List the paths of all personal and secret fields of a message type, for example "people[].name.given"."""
    return tuple(_personal_paths(descriptor, "", frozenset()))


def _personal_paths(descriptor: Descriptor, path: str, above: frozenset[Descriptor]) -> Iterator[str]:
    above = above | {descriptor}
    for field in descriptor.fields:
        here = f"{path}{field.name}{'[]' if field.is_repeated else ''}"
        if _is_hidden(field):
            yield here
        elif field.message_type is not None and field.message_type not in above:
            yield from _personal_paths(field.message_type, f"{here}.", above)


def _is_hidden(field: FieldDescriptor) -> bool:
    rules = rules_of(field)
    return rules.personal or rules.secret


def redacted(message: Message) -> dict[str, Any]:
    """Return the set fields of `message` for a log line: personal and secret ones hidden, bytes as a length."""
    return {
        field.name: REDACTED if _is_hidden(field) else _loggable(field, value) for field, value in message.ListFields()
    }


def _loggable(field: FieldDescriptor, value: Any) -> Any:
    if inner := map_value(field):
        return {key: _loggable_value(inner, value[key]) for key in value}
    if field.is_repeated:
        return [_loggable_value(field, item) for item in value]
    return _loggable_value(field, value)


def _loggable_value(field: FieldDescriptor, value: Any) -> Any:
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        return redacted(value)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return f"<{len(value)} bytes>"
    if field.type == FieldDescriptor.TYPE_ENUM:
        known = field.enum_type.values_by_number.get(value) if field.enum_type else None
        return known.name if known else value
    return value
