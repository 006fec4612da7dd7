"""Reading filed applications, with what becomes of each program for each person. `filings` writes them.

Enum columns hold the contract's value names without their prefix, in lower case: PROGRAM_CHILD_CARE is 'child_care'.
"""

from __future__ import annotations

import uuid
from datetime import date
from typing import Any, Final

import asyncpg

from canopy.applications.v1.application_pb2 import (
    Application,
    ApplicationStatus,
    Confidentiality,
    Determination,
    DeterminationState,
    FilingKind,
    Program,
    SubmissionChannel,
)
from services.chassis.postgres import Database

# One statement, so that application and determinations are of one moment; the application's columns repeat.
GET_APPLICATION: Final = """
SELECT a.application_id, c.code, a.kind, a.status, a.household_id, a.submitted_by, a.programs_requested,
       a.submission_channel, a.confidentiality, a.recovery_locked, a.received_at, a.filing_date, a.basis_date,
       d.person_id, d.program, d.state, d.decided_on, d.reason, d.effective_from, d.notice_date
  FROM applications a
  JOIN application_id_codes c USING (application_id)
  LEFT JOIN application_determinations d USING (application_id)
 WHERE a.application_id = $1            -- uuid
 ORDER BY d.person_id, d.program
"""


async def get(db: Database, application_id: uuid.UUID) -> Application | None:
    """Read an application with its determinations, by person and program."""
    rows = await db.fetch(GET_APPLICATION, application_id)
    if not rows:
        return None
    first = rows[0]
    return Application(
        application_id=str(first["application_id"]),
        code=first["code"],
        kind=_value(FilingKind, first["kind"]),
        status=_value(ApplicationStatus, first["status"]),
        household_id=str(first["household_id"]),
        submitted_by=str(first["submitted_by"]),
        programs_requested=[_value(Program, word) for word in first["programs_requested"]],
        determinations=[_determination(row) for row in rows if row["person_id"] is not None],
        channel=_value(SubmissionChannel, first["submission_channel"]),
        confidentiality=_value(Confidentiality, first["confidentiality"]),
        received_at=first["received_at"],
        filing_date=_day(first["filing_date"]),
        basis_date=_day(first["basis_date"]),
        recovery_locked=first["recovery_locked"],
    )


def _determination(row: asyncpg.Record) -> Determination:
    return Determination(
        person_id=str(row["person_id"]),
        program=_value(Program, row["program"]),
        state=_value(DeterminationState, row["state"]),
        decided_on=_day(row["decided_on"]),
        reason=row["reason"] or "",
        effective_from=_day(row["effective_from"]),
        notice_date=_day(row["notice_date"]),
    )


def _day(day: date | None) -> str:
    return "" if day is None else day.isoformat()


def _value(enum: Any, word: str) -> Any:
    """Read a value of a generated enum from its column."""
    return enum.Value(f"{enum.Name(0).removesuffix('UNSPECIFIED')}{word.upper()}")
