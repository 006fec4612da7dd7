"""The rows that a final commit writes: the application and one determination per person and program (FIN-08)."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from services.chassis.postgres import Transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Filing:
    """An application as it is filed. Enum values are spelled as in the database; `details` is encrypted."""

    application_id: uuid.UUID
    kind: str
    household_id: uuid.UUID
    submitted_by: uuid.UUID
    programs_requested: Sequence[str]
    channel: str
    confidentiality: str
    received_at: datetime
    filing_date: date
    basis_date: date
    dek_id: uuid.UUID
    wrapped_dek: bytes
    kek_kid: str
    details: bytes


INSERT_APPLICATION: Final = """
INSERT INTO applications
       (application_id, kind, status, household_id, submitted_by, programs_requested, submission_channel,
        confidentiality, received_at, filing_date, basis_date, dek_id, wrapped_dek, kek_kid, details)
VALUES ($1, $2, 'submitted', $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
ON CONFLICT (application_id) DO NOTHING
"""


async def insert_application(tx: Transaction, filing: Filing) -> bool:
    """Insert an application; False where one is filed under its id already."""
    tag = await tx.execute(
        INSERT_APPLICATION,
        filing.application_id,
        filing.kind,
        filing.household_id,
        filing.submitted_by,
        list(filing.programs_requested),
        filing.channel,
        filing.confidentiality,
        filing.received_at,
        filing.filing_date,
        filing.basis_date,
        filing.dek_id,
        filing.wrapped_dek,
        filing.kek_kid,
        filing.details,
    )
    return tag == "INSERT 0 1"


INSERT_DETERMINATIONS: Final = """
INSERT INTO application_determinations (application_id, person_id, program)
SELECT $1, requested.person_id, requested.program
  FROM unnest($2::uuid[], $3::text[]) AS requested (person_id, program)
"""


async def insert_determinations(
    tx: Transaction, application_id: uuid.UUID, requested: Sequence[tuple[uuid.UUID, str]]
) -> None:
    """Insert one undecided determination per person and program asked for."""
    people, programs = [person for person, _ in requested], [program for _, program in requested]
    await tx.execute(INSERT_DETERMINATIONS, application_id, people, programs)
