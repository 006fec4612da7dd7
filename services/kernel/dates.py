"""Civil dates and months. On the wire they are ISO text: YYYY-MM-DD and YYYY-MM, years 1850 to 2200."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from typing import Final

FIRST_YEAR: Final = 1850
LAST_YEAR: Final = 2200

_DATE: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_MONTH: Final = re.compile(r"([0-9]{4})-([0-9]{2})")


def parse_date(text: str) -> date:
    """Read YYYY-MM-DD. Raises ValueError, without the text, for another spelling, no such day, a year out of range."""
    match = _DATE.fullmatch(text)
    if match is None:
        raise ValueError("not a YYYY-MM-DD date")
    year, month, day = (int(part) for part in match.groups())
    _require_year(year)
    return date(year, month, day)


def _require_year(year: int) -> None:
    if not FIRST_YEAR <= year <= LAST_YEAR:
        raise ValueError(f"year outside {FIRST_YEAR}..{LAST_YEAR}")


@dataclass(frozen=True, slots=True)
class Month:
    """A calendar month."""

    year: int
    number: int  # 1..12

    def __post_init__(self) -> None:
        _require_year(self.year)
        if not 1 <= self.number <= 12:
            raise ValueError("month outside 1..12")

    @classmethod
    def parse(cls, text: str) -> Month:
        """Read YYYY-MM. Raises ValueError, without the text, for anything else."""
        match = _MONTH.fullmatch(text)
        if match is None:
            raise ValueError("not a YYYY-MM month")
        return cls(int(match[1]), int(match[2]))

    def first_day(self) -> date:
        """Return its first day."""
        return date(self.year, self.number, 1)


def civil_date(instant: datetime, zone: tzinfo) -> date:
    """Return the day it is in `zone` at `instant`. An instant without a time zone is refused with ValueError."""
    if instant.tzinfo is None:
        raise ValueError("the instant has no time zone")
    return instant.astimezone(zone).date()
