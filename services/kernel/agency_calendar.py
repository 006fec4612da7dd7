"""Which day it is for the agency (MSH-15). Pure: the instant and the agency's time zone decide, nothing else."""

from __future__ import annotations

from datetime import date, datetime, tzinfo

from services.kernel.dates import civil_date


def basis_date(received_at: datetime, agency_zone: tzinfo) -> date:
    """Return the day from which answers received at `received_at` hold: the agency's civil day of that instant."""
    return civil_date(received_at, agency_zone)


def filing_date(received_at: datetime, agency_zone: tzinfo) -> date:
    """Return the day that counts as filed.

    A filing by computer counts on the day it arrives, at any hour, so this is the civil day; an agency that moves
    filings outside of its business hours to its next business day changes this function alone.
    """
    return civil_date(received_at, agency_zone)
