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

from canopy.errors.v1.reason_pb2 import Reason
from services.kernel import text
from services.kernel.descriptors import map_value
from services.kernel.errors import Refusal, Violation, invalid
from services.kernel.field_checks import MAX_VIOLATIONS, check_of


def require_contract(message: Message, path: str = "") -> None:
    """Bring the text of `message` into form C, in place, and refuse a message that breaks its contract.

    path: where it stands in the message that carried it; fields are named from there. Raises Refusal with
    REASON_UNKNOWN_FIELD or REASON_INVALID_FIELD. Unknown fields come first: dropping them unseen could drop what a
    newer client means to say.
    """
    if has_unknown_fields(message):
        where = _below(path, path_of_unknown_field(message))
        unknown = Violation(field=where, rule="unknown_field")
        raise Refusal(Reason.REASON_UNKNOWN_FIELD, violations=[unknown], field=where)
    text.normalise(message)
    if broken := violations(message):
        raise invalid(*(Violation(field=_below(path, each.field), rule=each.rule) for each in broken))


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
        here = _below(path, field.name)
        if map_value(field):
            for entry in value.values():
                if isinstance(entry, Message):
                    yield from _paths_of_unknown_fields(entry, here)
        elif field.is_repeated:
            for index, item in enumerate(value):
                yield from _paths_of_unknown_fields(item, f"{here}[{index}]")
        else:
            yield from _paths_of_unknown_fields(value, here)


def _below(path: str, field: str) -> str:
    """Join the path of a message and one within it; either may be ""."""
    return f"{path}.{field}" if path and field else path or field
