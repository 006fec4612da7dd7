"""The REST surface of the mesh, read from the contract: one `Rule` per google.api.http binding.

The edge routes what is listed here and nothing else, so a method without a binding cannot be
reached from outside, and a new binding needs no second edit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from google.api import annotations_pb2, http_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor, MethodDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool

from services.chassis.resources import shipped
from services.kernel.policy import rest_of

# Messages that travel as one JSON string, so that one query parameter holds all of them.
SCALAR_MESSAGES: Final = frozenset(
    {
        "google.protobuf.Timestamp",
        "google.protobuf.Duration",
        "google.protobuf.FieldMask",
    }
)


class EdgeContractError(Exception):
    """The contract asks for something that the edge cannot route; the text names the method."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One way to reach one method over HTTP."""

    service: str
    """Full name of the gRPC service, for example `canopy.persons.v1.PersonsService`."""
    method: str
    """Name of the method within its service."""
    verb: str
    """HTTP method, upper case."""
    template: str
    """Path template of google.api.http, for example `/v1/persons/{person_id}`."""
    query_names: tuple[str, ...]
    """Every spelling of every parameter that the query may carry, sorted; empty for all but GET."""
    success_status: int
    """200, 201 or 202."""
    max_body_bytes: int
    """Largest request body."""

    @property
    def owner(self) -> str:
        """The service of the mesh that serves it: `persons` for `canopy.persons.v1.PersonsService`."""
        return self.service.split(".")[1]

    @property
    def grpc_path(self) -> str:
        """Path of the method in gRPC."""
        return f"/{self.service}/{self.method}"


def contract_path() -> Path:
    """Find the descriptor set: beside the generated modules in a checkout, inside the package in a wheel."""
    path = shipped("gen/canopy.binpb")
    if path.is_file():
        return path
    raise EdgeContractError("the descriptor set canopy.binpb is missing; run `make gen`, or install the wheel again")


def read_rules(descriptor_set: bytes) -> tuple[Rule, ...]:
    """List the bindings of a serialized FileDescriptorSet (dependencies first), in the order of the contract.

    Raises EdgeContractError for a client-streaming method with a binding, a custom verb, or a
    success status outside 200, 201, 202.
    """
    files = FileDescriptorSet.FromString(descriptor_set)
    pool = DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return tuple(
        rule
        for file in files.file
        for service in file.service
        for method in pool.FindServiceByName(f"{file.package}.{service.name}").methods
        for rule in _rules_of(method)
    )


def path_regex(template: str) -> str:
    """Turn a path template into an RE2 expression for the whole path, without the query.

    A segment holds neither a slash nor a colon, so that a verb such as `:batchGet` never ends up in a variable.
    """
    pattern = re.sub(r"\{[^}=]+\}", "*", template)
    pattern = re.sub(r"\{[^}=]+=([^}]+)\}", r"\1", pattern)
    pieces = re.split(r"(\*\*|\*)", pattern)
    return "".join({"**": r"[^:]+", "*": r"[^/:]+"}.get(piece, re.escape(piece)) for piece in pieces)


def _rules_of(method: MethodDescriptor) -> Iterator[Rule]:
    options: Any = method.GetOptions()
    if not options.HasExtension(annotations_pb2.http):
        return
    if method.client_streaming:
        raise EdgeContractError(f"{method.full_name}: a client-streaming method cannot have google.api.http")
    rest = rest_of(method)
    if rest.success_status not in {200, 201, 202}:
        raise EdgeContractError(f"{method.full_name}: success_status must be 200, 201 or 202")
    binding: http_pb2.HttpRule = options.Extensions[annotations_pb2.http]
    for each in (binding, *binding.additional_bindings):
        verb, template = _verb_and_template(method, each)
        yield Rule(
            service=method.containing_service.full_name,
            method=method.name,
            verb=verb,
            template=template,
            query_names=_query_names(method.input_type, template) if verb == "GET" else (),
            success_status=rest.success_status,
            max_body_bytes=rest.max_body_bytes,
        )


def _verb_and_template(method: MethodDescriptor, binding: http_pb2.HttpRule) -> tuple[str, str]:
    kind = binding.WhichOneof("pattern")
    if kind is None or kind == "custom":
        raise EdgeContractError(f"{method.full_name}: google.api.http must name get, put, post, delete or patch")
    return kind.upper(), getattr(binding, kind)


def _query_names(message: Descriptor, template: str) -> tuple[str, ...]:
    """Name what a GET may carry in its query: every leaf field but those the path binds (they would override it)."""
    bound = set(re.findall(r"\{([^}=]+)", template))
    return tuple(sorted({spelling for path, spelling in _leaves(message, (), ()) if path not in bound}))


def _leaves(
    message: Descriptor, path: tuple[FieldDescriptor, ...], enclosing: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    """Yield (field path, spelling) of each field that fits into a query, in proto and in JSON spelling."""
    if message.full_name in enclosing:
        return
    for field in message.fields:
        here = (*path, field)
        if field.message_type is None or field.message_type.full_name in SCALAR_MESSAGES:
            name = ".".join(f.name for f in here)
            yield name, name
            yield name, ".".join(f.json_name for f in here)
        elif not field.is_repeated:
            yield from _leaves(field.message_type, here, (*enclosing, message.full_name))
