"""Civil dates, months and ages."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.kernel.dates import Month, age_on, civil_date, parse_date

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
def test_month_holds_its_days(day: date) -> None:
    """MSH-15: first and last day enclose every day of the month, and months follow one another."""
    month = Month.of(day)

    assert month.first_day() <= day <= month.last_day()
    assert Month.parse(str(month)) == month
    assert (month.next().first_day() - month.last_day()).days == 1
    assert month < month.next()


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


@pytest.mark.parametrize(
    ("birth", "day", "age"),
    [
        (date(2000, 2, 29), date(2018, 2, 28), 17),
        (date(2000, 2, 29), date(2018, 3, 1), 18),
        (date(2000, 6, 15), date(2026, 6, 15), 26),
        (date(2000, 6, 15), date(2026, 6, 14), 25),
    ],
)
def test_age_is_counted_on_a_named_day(birth: date, day: date, age: int) -> None:
    """MSH-15: completed years, on the day that is asked for."""
    assert age_on(birth, day) == age
