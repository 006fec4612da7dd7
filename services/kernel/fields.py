"""What the field options of the contract (protos/canopy/options/v1/field.proto) mean for a message.

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

from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from services.kernel.descriptors import map_value
from services.kernel.errors import Violation
from services.kernel.field_checks import MAX_VIOLATIONS, check_of


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
