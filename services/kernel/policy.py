"""Typed reading of the options that the contract carries on methods, fields and error reasons.

A method or reason without its option is a fault of the contract, found when a process starts: MissingPolicyError.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any, Final

from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor, ServiceDescriptor
from google.protobuf.descriptor_pb2 import MethodOptions

from canopy.errors.v1.reason_pb2 import Reason
from canopy.options.v1 import access_pb2, error_pb2, field_pb2
from canopy.options.v1.field_pb2 import Field

DEFAULT_BODY_BYTES: Final = 1 << 20


class MissingPolicyError(LookupError):
    """The contract does not say what it must say about a method or a reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Who may call a method: everyone (`public`), or these services, or people with any of these roles."""

    services: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    public: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """How a method shows over REST."""

    success_status: int = 200
    body_message: str = ""  # full name of the message that a raw HttpBody carries as JSON; "" for a typed body
    max_body_bytes: int = DEFAULT_BODY_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """How a reason travels."""

    code: int  # gRPC status code number
    retry_after: float  # seconds; 0 where repeating the same call does not help


class Idempotency(Enum):
    """Whether the same call may be sent twice."""

    UNKNOWN = MethodOptions.IDEMPOTENCY_UNKNOWN
    NO_SIDE_EFFECTS = MethodOptions.NO_SIDE_EFFECTS
    IDEMPOTENT = MethodOptions.IDEMPOTENT

    @property
    def repeatable(self) -> bool:
        """True where a second sending of the same call does no harm."""
        return self is not Idempotency.UNKNOWN


def path_of(method: MethodDescriptor) -> str:
    """Return the name of a method on the wire: "/canopy.persons.v1.PersonsService/BatchGetPersons"."""
    return f"/{method.containing_service.full_name}/{method.name}"


def methods_of(services: Iterable[ServiceDescriptor]) -> dict[str, MethodDescriptor]:
    """Index every method of `services` by its name on the wire."""
    return {path_of(method): method for service in services for method in service.methods}


def access_of(method: MethodDescriptor) -> Access:
    """Read who may call `method`. Raises MissingPolicyError where that is unsaid, empty, or public and restricted."""
    options: Any = method.GetOptions()
    if not options.HasExtension(access_pb2.access):
        raise MissingPolicyError(f"{method.full_name} has no (canopy.options.v1.access)")
    said: access_pb2.Access = options.Extensions[access_pb2.access]
    access = Access(services=frozenset(said.services), roles=frozenset(said.roles), public=said.public)
    if access.public == bool(access.services or access.roles):
        raise MissingPolicyError(f"{method.full_name}: access must be public, or name services or roles, not both")
    return access


def rest_of(method: MethodDescriptor) -> Rest:
    """Read how `method` shows over REST; what is unsaid has its default."""
    options: Any = method.GetOptions()
    said: access_pb2.Rest = options.Extensions[access_pb2.rest]
    return Rest(
        success_status=said.success_status or 200,
        body_message=said.body_message,
        max_body_bytes=said.max_body_bytes or DEFAULT_BODY_BYTES,
    )


def rules_of(field: FieldDescriptor) -> Field:
    """Read the limits of a field; empty ones where the contract has none."""
    options: Any = field.GetOptions()
    return options.Extensions[field_pb2.field]


def idempotency_of(method: MethodDescriptor) -> Idempotency:
    """Read whether `method` may be sent again."""
    return Idempotency(method.GetOptions().idempotency_level)


@cache
def failure_of(reason: Reason) -> Failure:
    """Read how `reason` travels. Raises MissingPolicyError for the zero value and for numbers not in the catalogue."""
    value = Reason.DESCRIPTOR.values_by_number.get(reason)
    options: Any = value.GetOptions() if value else None
    if options is None or not options.HasExtension(error_pb2.failure):
        raise MissingPolicyError(f"reason {reason} has no (canopy.options.v1.failure)")
    said: error_pb2.Failure = options.Extensions[error_pb2.failure]
    return Failure(code=said.code, retry_after=float(said.retry_after_seconds))
