"""What text may hold: every script, in Unicode normalisation form C, minus what hides, reorders or breaks.

Marks that writing systems need stay allowed: joiners between letters (Persian, Indic scripts), left-to-right and
right-to-left marks. Refused are controls, line separators, the bidirectional overrides, embeddings and isolates that
make text read otherwise than it is stored, and text that shows nothing at all.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from services.kernel.descriptors import map_value

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_BIDI: Final = re.compile(r"[\u202a-\u202e\u2066-\u2069]")
# Anything but white space and the default-ignorable code points that take no room (Unicode, DerivedCoreProperties).
_VISIBLE: Final = re.compile(
    r"[^\s\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def nfc(text: str) -> str:
    """Return `text` in normalisation form C: what is shown alike is stored alike."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def broken_rule(text: str, *, lines: bool = False) -> str | None:
    """Return the slug of the rule that a non-empty `text` breaks, None where it breaks none.

    lines: line feeds are part of it (free text). Slugs: control_character, bidi_control, blank (shows nothing).
    """
    if not text.isprintable():  # one pass in C; false for every character refused below, and for some that are not
        if _CONTROL.search(text.replace("\n", "") if lines else text):
            return "control_character"
        if _BIDI.search(text):
            return "bidi_control"
    return None if _VISIBLE.search(text) else "blank"


def normalise(message: Message) -> None:
    """Bring every string of `message`, at any depth, into form C, in place. Keys of maps are left as they are.

    What is stored, hashed and compared is then one and the same (FIN-09).
    """
    for descriptor, value in message.ListFields():
        if (fix := _normaliser(descriptor)) is not None:
            fix(message, value)


@cache
def _holds_text(descriptor: Descriptor, above: frozenset[Descriptor] = frozenset()) -> bool:
    """Tell whether a string can occur in a message of this type; a type met again on the way down adds nothing."""
    above = above | {descriptor}
    return any(
        field.type == FieldDescriptor.TYPE_STRING
        or (
            field.message_type is not None
            and field.message_type not in above
            and _holds_text(field.message_type, above)
        )
        for field in descriptor.fields
    )


@cache
def _normaliser(field: FieldDescriptor) -> Callable[[Message, Any], None] | None:
    """Choose, once per field, how its strings are reached; None where there are none."""
    if values := map_value(field):
        if values.type == FieldDescriptor.TYPE_STRING:
            return _each_map_text
        return _each_map_message if _reaches_text(values) else None
    if field.type == FieldDescriptor.TYPE_STRING:
        return _each_text if field.is_repeated else _single(field.name)
    if not _reaches_text(field):
        return None
    return _each_message if field.is_repeated else _one_message


def _reaches_text(field: FieldDescriptor) -> bool:
    return field.message_type is not None and _holds_text(field.message_type)


def _single(name: str) -> Callable[[Message, Any], None]:
    def fix(message: Message, value: str) -> None:
        if not value.isascii():
            setattr(message, name, nfc(value))

    return fix


def _each_text(_message: Message, values: Any) -> None:
    for index, value in enumerate(values):
        if not value.isascii():
            values[index] = nfc(value)


def _each_map_text(_message: Message, values: Any) -> None:
    for key, value in list(values.items()):
        values[key] = nfc(value)


def _one_message(_message: Message, value: Message) -> None:
    normalise(value)


def _each_message(_message: Message, values: Any) -> None:
    for value in values:
        normalise(value)


def _each_map_message(_message: Message, values: Any) -> None:
    for key in values:
        normalise(values[key])
