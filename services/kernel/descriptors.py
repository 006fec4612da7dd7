"""Shapes of protobuf fields that descriptors tell only indirectly."""

from __future__ import annotations

from google.protobuf.descriptor import Descriptor, FieldDescriptor


def message_type(field: FieldDescriptor) -> Descriptor:
    """Return the type of a message field; ValueError for any other field."""
    if field.message_type is None:
        raise ValueError(f"{field.full_name} does not hold messages")
    return field.message_type


def map_value(field: FieldDescriptor) -> FieldDescriptor | None:
    """Return the field that describes the values of a map<>; None where `field` is not a map."""
    return _entry(field, "value")


def map_key(field: FieldDescriptor) -> FieldDescriptor | None:
    """Return the field that describes the keys of a map<>; None where `field` is not a map."""
    return _entry(field, "key")


def _entry(field: FieldDescriptor, name: str) -> FieldDescriptor | None:
    entry = field.message_type
    return entry.fields_by_name[name] if entry is not None and entry.GetOptions().map_entry else None
