"""The contract as the tests read it: every message, method and comment of our own files."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool

from services.chassis.resources import shipped
from services.kernel.policy import rules_of


@cache
def file_set() -> FileDescriptorSet:
    """The committed descriptor set, comments of our own files included."""
    return FileDescriptorSet.FromString(shipped("gen/canopy.binpb").read_bytes())


@cache
def _pool() -> DescriptorPool:
    pool = DescriptorPool()
    for file in file_set().file:
        pool.Add(file)
    return pool


def our_files() -> list[Any]:
    """Descriptors of the files below canopy/."""
    return [_pool().FindFileByName(file.name) for file in file_set().file if file.name.startswith("canopy/")]


def methods() -> list[MethodDescriptor]:
    """Every method of ours."""
    return [method for file in our_files() for service in file.services_by_name.values() for method in service.methods]


def messages() -> list[Any]:
    """Every message of ours; none is nested."""
    return [message for file in our_files() for message in file.message_types_by_name.values()]


def fields_below(message: Any, seen: frozenset[str] = frozenset()) -> Iterator[FieldDescriptor]:
    """Yield every field that a message holds, at any depth."""
    if message.full_name in seen:
        return
    for field in message.fields:
        yield field
        if field.message_type is not None:
            yield from fields_below(field.message_type, seen | {message.full_name})


def is_personal(field: FieldDescriptor) -> bool:
    """Tell whether the contract calls a field personal."""
    return rules_of(field).personal


def comments() -> dict[str, str]:
    """Comment of each method by its full name."""
    found: dict[str, str] = {}
    for file in file_set().file:
        for location in file.source_code_info.location:
            match list(location.path):
                case [6, service, 2, method]:
                    owner = file.service[service]
                    found[f"{file.package}.{owner.name}.{owner.method[method].name}"] = location.leading_comments
                case _:
                    pass
    return found
