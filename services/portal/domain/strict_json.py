"""Read a JSON body into a message without forgiving anything (decision of ADR-16).

protobuf's own parser takes `[]` for an empty message, numbers and `true` for enums, broken base64, and puts the value
into its error. Here every object is walked against the descriptor first; a refusal names the path of the field, in
proto names, and never a value. What is left to check (limits, formats, required fields) is the contract's, in
services/kernel/fields.py.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from canopy.errors.v1.reason_pb2 import Reason
from services.kernel.errors import Refusal

M = TypeVar("M", bound=Message)

MAX_DEPTH: Final = 32

_SIGNED: Final = {FieldDescriptor.CPPTYPE_INT32: 31, FieldDescriptor.CPPTYPE_INT64: 63}
_UNSIGNED: Final = {FieldDescriptor.CPPTYPE_UINT32: 32, FieldDescriptor.CPPTYPE_UINT64: 64}
_INTEGER: Final = re.compile(r"-?(0|[1-9][0-9]{0,19})")
_TIMESTAMP: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)")


class _Fraction:
    """A number with a fraction or an exponent: no field of ours is one."""


def parse(body: bytes, message_type: type[M]) -> M:
    """Return the message that `body` spells.

    Raises REASON_MALFORMED_BODY (not UTF-8 JSON, a key twice, a value of the wrong kind) or REASON_UNKNOWN_FIELD.
    """
    message = message_type()
    value = _load(body)
    _object(value, message.DESCRIPTOR, "", 0)
    try:
        return json_format.ParseDict(value, message)
    except (json_format.ParseError, ValueError) as error:
        raise _malformed("") from error


def _load(body: bytes) -> Any:
    try:
        return json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_pairs,
            parse_float=lambda _text: _Fraction(),
            parse_constant=lambda _name: _Fraction(),
        )
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise _malformed("") from error


def _pairs(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError("a key stands twice")
        found[key] = value
    return found


def _object(value: Any, descriptor: Any, path: str, depth: int) -> None:
    if not isinstance(value, dict) or depth > MAX_DEPTH:
        raise _malformed(path)
    seen: set[str] = set()
    for key, item in value.items():
        field = descriptor.fields_by_camelcase_name.get(key) or descriptor.fields_by_name.get(key)
        if field is None:
            raise Refusal(Reason.REASON_UNKNOWN_FIELD, field=path)
        where = f"{path}.{field.name}" if path else field.name
        group = field.containing_oneof.name if field.containing_oneof else field.name
        if group in seen:
            raise _malformed(where)
        seen.add(group)
        if item is not None:
            _field(item, field, where, depth)


def _field(value: Any, field: FieldDescriptor, path: str, depth: int) -> None:
    if not field.is_repeated:
        _single(value, field, path, depth)
        return
    if not isinstance(value, list):
        raise _malformed(path)
    for index, item in enumerate(value):
        _single(item, field, f"{path}[{index}]", depth)


def _single(value: Any, field: FieldDescriptor, path: str, depth: int) -> None:
    if field.message_type is not None and field.message_type.full_name != "google.protobuf.Timestamp":
        _object(value, field.message_type, path, depth + 1)
    elif not _kind_check(field)(value):
        raise _malformed(path)


def _kind_check(field: FieldDescriptor) -> Callable[[Any], bool]:
    """Return the check that a JSON value is of the kind of a scalar field."""
    if field.message_type is not None:
        return lambda value: isinstance(value, str) and _TIMESTAMP.fullmatch(value) is not None
    if field.enum_type is not None:
        names = field.enum_type.values_by_name
        return lambda value: isinstance(value, str) and value in names
    kind = field.cpp_type
    if kind == FieldDescriptor.CPPTYPE_BOOL:
        return lambda value: isinstance(value, bool)
    if kind in _SIGNED or kind in _UNSIGNED:
        low = -(1 << _SIGNED[kind]) if kind in _SIGNED else 0
        high = (1 << (_SIGNED.get(kind) or _UNSIGNED[kind])) - 1
        return lambda value: _is_integer(value, low, high)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return _is_base64
    if kind == FieldDescriptor.CPPTYPE_STRING:
        return _is_text
    return lambda _value: False


def _is_integer(value: Any, low: int, high: int) -> bool:
    """Tell whether a JSON number, or the decimal text of one, lies in bounds; `true` is no number."""
    if isinstance(value, str):
        return _INTEGER.fullmatch(value) is not None and low <= int(value) <= high
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _is_text(value: Any) -> bool:
    """Tell whether a value is a text of Unicode scalar values: a lone surrogate is none."""
    if not isinstance(value, str):
        return False
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _is_base64(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        base64.b64decode(value, validate=True)
    except ValueError:
        return False
    return True


def _malformed(path: str) -> Refusal:
    return Refusal(Reason.REASON_MALFORMED_BODY, field=path)
