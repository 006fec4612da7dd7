"""The agency's days."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from services.kernel.agency_calendar import basis_date, filing_date

NEW_YORK = ZoneInfo("America/New_York")


@pytest.mark.parametrize(
    ("instant", "day"),
    [
        pytest.param(datetime(2026, 7, 2, 3, 30, tzinfo=UTC), date(2026, 7, 1), id="23:30 local in summer"),
        pytest.param(datetime(2026, 1, 2, 4, 30, tzinfo=UTC), date(2026, 1, 1), id="23:30 local in winter"),
        pytest.param(datetime(2026, 3, 8, 4, 59, tzinfo=UTC), date(2026, 3, 7), id="last minute before the short day"),
        pytest.param(datetime(2026, 3, 9, 3, 59, tzinfo=UTC), date(2026, 3, 8), id="last minute of the short day"),
        pytest.param(datetime(2026, 11, 1, 4, 0, tzinfo=UTC), date(2026, 11, 1), id="first minute of the long day"),
        pytest.param(datetime(2026, 11, 2, 4, 59, tzinfo=UTC), date(2026, 11, 1), id="last minute of the long day"),
        pytest.param(datetime(2026, 6, 5, 23, 0, tzinfo=UTC), date(2026, 6, 5), id="Friday evening"),
    ],
)
def test_an_instant_has_the_day_of_the_agency(instant: datetime, day: date) -> None:
    """MSH-15: basis and filing date are the agency's civil day, whatever the machine's zone."""
    assert basis_date(instant, NEW_YORK) == day
    assert filing_date(instant, NEW_YORK) == day


def test_an_instant_without_a_zone_is_refused() -> None:
    """MSH-15: a guess at the zone would be a guess at the day."""
    with pytest.raises(ValueError, match="no time zone"):
        basis_date(datetime(2026, 1, 1), NEW_YORK)  # noqa: DTZ001
