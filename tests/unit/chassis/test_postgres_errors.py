"""Which errors leave a COMMIT in doubt, and what a caller is told when nothing was done."""

from __future__ import annotations

import asyncpg
import pytest

from canopy.errors.v1.reason_pb2 import Reason
from services.chassis import postgres_errors
from services.chassis.postgres_errors import SessionEndedError


def server_error(sqlstate: str, severity: str = "ERROR") -> BaseException:
    """Build what the driver raises for a server's message."""
    return asyncpg.PostgresError.new({"S": severity, "V": severity, "C": sqlstate, "M": "made up"})


@pytest.mark.parametrize(
    "error",
    [
        server_error("57P01", "FATAL"),  # the session ends: perhaps after the commit
        server_error("25P04", "FATAL"),
        server_error("XX000", "PANIC"),
        server_error("40003"),
        server_error("57P02"),
        server_error("08006"),
        asyncpg.ConnectionDoesNotExistError("lost"),
        ConnectionResetError(),
        TimeoutError(),
    ],
    ids=str,
)
def test_an_answer_that_says_nothing_leaves_the_commit_unknown(error: BaseException) -> None:
    """FIN-22: an end of session, a lost connection and a timeout at COMMIT say nothing about it."""
    assert postgres_errors.leaves_commit_unknown(error)


@pytest.mark.parametrize(
    "error", [server_error("23503"), server_error("40001"), server_error("P0001"), SessionEndedError(), ValueError()]
)
def test_a_plain_error_answers_the_commit(error: BaseException) -> None:
    """FIN-22: a COMMIT that was refused, or never sent, is certain."""
    assert not postgres_errors.leaves_commit_unknown(error)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (server_error("55P03"), Reason.REASON_OVERLOADED),
        (server_error("57014"), Reason.REASON_OVERLOADED),
        (server_error("25P04", "FATAL"), Reason.REASON_OVERLOADED),
        (server_error("53300", "FATAL"), Reason.REASON_OVERLOADED),
        (server_error("57P03", "FATAL"), Reason.REASON_UPSTREAM_UNAVAILABLE),
        (server_error("25P03", "FATAL"), Reason.REASON_UPSTREAM_UNAVAILABLE),
        (server_error("08006"), Reason.REASON_UPSTREAM_UNAVAILABLE),
        (ConnectionRefusedError(), Reason.REASON_UPSTREAM_UNAVAILABLE),
        (SessionEndedError(), Reason.REASON_UPSTREAM_UNAVAILABLE),
        (asyncpg.InternalClientError(), Reason.REASON_UPSTREAM_UNAVAILABLE),
        (server_error("23505"), None),
        (server_error("42P01"), None),
    ],
)
def test_what_the_caller_is_told(error: BaseException, reason: Reason | None) -> None:
    """FIN-22: overload and absence are refusals; a violated constraint or a wrong statement is not."""
    refusal = postgres_errors.refusal_of(error)

    assert (refusal.reason if refusal else None) == reason
