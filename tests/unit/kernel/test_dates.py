"""Civil dates and months."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.kernel.dates import Month, civil_date, parse_date

DAYS = st.dates(date(1850, 1, 1), date(2199, 12, 31))


@given(DAYS)
def test_date_survives_its_text(day: date) -> None:
    """MSH-15: ISO text is read back as the same day."""
    assert parse_date(day.isoformat()) == day


@pytest.mark.parametrize("text", ["2023-02-29", "2024-1-01", "1849-12-31", "2201-01-01", "20240101", "2024-01-01 "])
def test_no_such_day_is_refused_without_its_text(text: str) -> None:
    """MSH-08: the error does not quote what was sent."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 -- the next line looks at the text
        parse_date(text)
    assert text not in str(caught.value)


@given(DAYS)
def test_month_begins_with_its_first_day(day: date) -> None:
    """MSH-15: YYYY-MM is read as the month of its days."""
    assert Month.parse(day.isoformat()[:7]).first_day() == day.replace(day=1)


@pytest.mark.parametrize("text", ["2026-13", "2026-00", "2026-1", "1849-12", "26-01"])
def test_no_such_month_is_refused(text: str) -> None:
    """MSH-08: months outside the calendar or the range."""
    with pytest.raises(ValueError, match=r"month|year"):
        Month.parse(text)


def test_late_evening_belongs_to_the_local_day() -> None:
    """MSH-15: 23:30 in the agency's zone is that day, though UTC is a day further, on both sides of daylight saving."""
    zone = ZoneInfo("America/New_York")

    assert civil_date(datetime(2026, 7, 2, 3, 30, tzinfo=UTC), zone) == date(2026, 7, 1)
    assert civil_date(datetime(2026, 1, 2, 4, 30, tzinfo=UTC), zone) == date(2026, 1, 1)
    assert civil_date(datetime(2026, 3, 8, 4, 59, tzinfo=UTC), zone) == date(2026, 3, 7)
    with pytest.raises(ValueError, match="zone"):
        civil_date(datetime(2026, 1, 1), zone)  # noqa: DTZ001 -- the point of the test
