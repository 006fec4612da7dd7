"""What an error of the driver or of PostgreSQL means for the transaction it met."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import asyncpg

from canopy.errors.v1.reason_pb2 import Reason
from services.kernel.errors import Refusal


class SessionEndedError(Exception):
    """The session had ended before the statement was sent, so the statement did nothing."""


# What a statement can fail with, at the server or on the way. OSError includes TimeoutError.
STATEMENT_ERRORS: Final = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    SessionEndedError,
)

# The same closure may well succeed on a second run, and the failed run has left nothing.
_RETRYABLE: Final = (
    asyncpg.SerializationError,  # 40001
    asyncpg.DeadlockDetectedError,  # 40P01
    asyncpg.InvalidCachedStatementError,  # a migration changed the table between two uses of a prepared statement
)
_TOO_MUCH_WORK: Final = (
    asyncpg.LockNotAvailableError,  # 55P03, lock_timeout
    asyncpg.QueryCanceledError,  # 57014, statement_timeout
    asyncpg.TransactionTimeoutError,  # 25P04
    asyncpg.InsufficientResourcesError,  # class 53
)
_UNAVAILABLE: Final = (
    SessionEndedError,
    OSError,
    asyncpg.InternalClientError,  # the driver lost its place: the server ended in the middle of an answer
    asyncpg.PostgresConnectionError,  # class 08
    asyncpg.OperatorInterventionError,  # class 57: shutting down, starting up
    asyncpg.IdleInTransactionSessionTimeoutError,  # 25P03: we stalled, the server hung up
)
_STATEMENT_COMPLETION_UNKNOWN: Final = "40003"


def is_retryable(error: BaseException | None) -> bool:
    """Tell whether running the whole closure again is the answer."""
    return isinstance(error, _RETRYABLE)


def refusal_of(error: BaseException) -> Refusal | None:
    """Translate an error that left nothing behind; None when it is a matter of the statement, or a defect."""
    if isinstance(error, _TOO_MUCH_WORK) or is_retryable(error):
        return Refusal(Reason.REASON_OVERLOADED)
    if isinstance(error, _UNAVAILABLE):
        return Refusal(Reason.REASON_UPSTREAM_UNAVAILABLE)
    return None


def leaves_commit_unknown(error: BaseException) -> bool:
    """Tell whether the server may have committed, given what was raised while COMMIT was in flight.

    A plain ERROR answers the COMMIT: it was refused, for example by a deferred constraint. A session that ends
    (FATAL), a lost connection and a timeout answer nothing.
    """
    if isinstance(error, asyncpg.PostgresError):
        severity: str | None = getattr(error, "severity_en", None) or getattr(error, "severity", None)
        return (
            severity in ("FATAL", "PANIC")
            or getattr(error, "sqlstate", None) == _STATEMENT_COMPLETION_UNKNOWN
            or isinstance(error, (asyncpg.PostgresConnectionError, asyncpg.OperatorInterventionError))
        )
    return isinstance(error, (OSError, asyncpg.InternalClientError))


@contextmanager
def refusing() -> Iterator[None]:
    """Raise the refusal in place of an error of the block that `refusal_of` can translate."""
    try:
        yield
    except STATEMENT_ERRORS as error:
        refusal = refusal_of(error)
        if refusal is None:
            raise
        raise refusal from error
