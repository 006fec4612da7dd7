"""The two ways a call fails: a Refusal of ours, with a reason of the catalogue, and a ClientError of one we called.

A Refusal crosses the wire as a status with google.rpc.ErrorInfo; interceptors/server/status.py is the only place that
builds one. Neither exception ever holds a value that a caller sent: only names of reasons, fields and rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from canopy.errors.v1.reason_pb2 import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One field that breaks its contract."""

    field: str  # path in proto names, for example "people[2].name.given"; "" for the message itself
    rule: str  # stable slug, for example "required", "format_date", "max_items", "unknown_enum"


class Refusal(Exception):
    """We do not do what was asked, for `reason`. Code, text and retry advice come from the catalogue."""

    def __init__(
        self,
        reason: Reason,
        /,
        *,
        violations: Sequence[Violation] = (),
        retry_after: float | None = None,
        **metadata: str,
    ) -> None:
        """Refuse.

        violations: every broken field, for REASON_INVALID_FIELD. retry_after: seconds, where the moment knows better
        than the catalogue. metadata: the keys that the reason's comment in reason.proto lists; never a sent value.
        """
        super().__init__(Reason.Name(reason))
        self.reason = reason
        self.violations = tuple(violations)
        self.retry_after = retry_after
        self.metadata = metadata


def invalid(*violations: Violation) -> Refusal:
    """Build the refusal of a message that breaks its contract; metadata names the first violation."""
    first = violations[0]
    return Refusal(Reason.REASON_INVALID_FIELD, violations=violations, field=first.field, rule=first.rule)


def sentence(reason: Reason) -> str:
    """Say a reason in words, for the status message: REASON_DRAFT_NOT_FOUND is "draft not found"."""
    return Reason.Name(reason).removeprefix("REASON_").replace("_", " ").lower()


def label(error: BaseException) -> str:
    """Name an error for a log line: its type, and the reason and kind of one of ours; of a group, every member.

    Never its text: that of a driver or a parser may quote what somebody sent.
    """
    kind = type(error).__name__
    match error:
        case Refusal():
            return f"{kind}({Reason.Name(error.reason)})"
        case ClientError():
            return f"{kind}({error.kind.name}, {Reason.Name(error.reason)})"
        case BaseExceptionGroup():
            return f"{kind}({', '.join(sorted({label(inner) for inner in error.exceptions}))})"
        case _:
            return kind


class ClientFailure(Enum):
    """What became of a call to another service, in the terms its caller decides by."""

    TRANSIENT_EXHAUSTED = auto()  # unavailable or overloaded, and the tries or the time for them are used up
    OVERALL_TIMEOUT = auto()  # the one deadline over token, send, body and decode ran out
    AUTH = auto()  # no token to be had, or it was not accepted
    NOT_FOUND = auto()
    CONFLICT = auto()  # ABORTED, ALREADY_EXISTS: the state has moved on
    UNPROCESSABLE = auto()  # the request breaks a rule; the same request never works
    DECODE = auto()  # the answer is not a message of the declared type, or larger than allowed
    CONTRACT = auto()  # anything that the contract does not foresee, a fault of the other side included


class ClientError(Exception):
    """A call to another service failed. Domain code decides by `kind` and, where there is one of ours, by `reason`."""

    def __init__(
        self,
        kind: ClientFailure,
        *,
        method: str,
        code: int,
        reason: Reason = Reason.REASON_UNSPECIFIED,
        violations: Sequence[Violation] = (),
        metadata: Mapping[str, str] | None = None,
        retry_after: float | None = None,
        may_have_happened: bool,
    ) -> None:
        """Describe the failure.

        method: full name, "/canopy.persons.v1.PersonsService/BatchGetPersons". code: gRPC status code number.
        reason: REASON_UNSPECIFIED where the other side gave none of ours. violations: the fields it named.
        may_have_happened: False only where the call was certainly not executed: it was refused, or never sent.
        """
        super().__init__(f"{method}: {kind.name} (code {code}, {Reason.Name(reason)})")
        self.kind = kind
        self.method = method
        self.code = code
        self.reason = reason
        self.violations = tuple(violations)
        self.metadata = dict(metadata or {})
        self.retry_after = retry_after
        self.may_have_happened = may_have_happened
