"""Dates of the Gregorian calendar."""

from __future__ import annotations

import calendar
import re
from datetime import date, datetime, timedelta

from captain.errors import ToolError
from captain.tools import tool

_DATE_FORMATS = ("%Y-%m-%d", "%Y/%m/%d", "%d %B %Y", "%d %b %Y", "%B %d %Y", "%b %d %Y")
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@tool
def days_between_dates(start: str, end: str) -> dict[str, int | str]:
    """Count the days between two dates and name the day of the week (weekday) of both, by the Gregorian calendar.

    For the weekday of a single date give it twice.

    Args:
        start: A date such as "2024-02-28", "28 February 2024" or "February 28, 2024".
        end: A date in the same forms; the result is negative when it is before the start.

    Returns:
        days (end minus start, the start day not counted), start_weekday, end_weekday.

    Raises:
        ToolError: A date does not exist, is ambiguous (03/04/2024) or is not in the years 1 to 9999.
    """
    first, last = _date(start), _date(end)
    return {"days": (last - first).days, "start_weekday": _weekday(first), "end_weekday": _weekday(last)}


@tool
def shift_date(start: str, days: int = 0, weeks: int = 0, months: int = 0, years: int = 0) -> dict[str, str | int]:
    """Add or subtract days, weeks, months and years to a date, or find the day of the week a number of days after a
    weekday such as Friday.

    Args:
        start: A date such as "2024-02-28" or "28 February 2024", or only a weekday such as "friday".
        days: Days to add; negative goes back.
        weeks: Weeks to add.
        months: Months to add; a day that the month does not have becomes its last (31 January + 1 month is the end of
            February). Months and years are added before days.
        years: Years to add.

    Returns:
        date (YYYY-MM-DD; not for a mere weekday), weekday, day_of_year and iso_week (for a date).

    Raises:
        ToolError: The date cannot be read, the result is not in the years 1 to 9999, or months are added to a weekday.
    """
    named = [day for day in _WEEKDAYS if start.strip().lower() in (day.lower(), day[:3].lower())]
    if named:
        if months or years:
            raise ToolError(f"months and years cannot be added to {start!r}; give a date")
        return {"weekday": _WEEKDAYS[(_WEEKDAYS.index(named[0]) + days + 7 * weeks) % 7]}
    first = _date(start)
    count = 12 * (first.year + years) + first.month - 1 + months
    year, month = count // 12, count % 12 + 1
    try:
        last = calendar.monthrange(year, month)[1] if 1 <= year <= 9999 else 0
        found = date(year, month, min(first.day, last)) + timedelta(days=days, weeks=weeks)
    except (ValueError, OverflowError):
        raise ToolError("the result is not in the years 1 to 9999") from None
    return {
        "date": found.isoformat(),
        "weekday": _weekday(found),
        "day_of_year": found.timetuple().tm_yday,
        "iso_week": found.isocalendar().week,
    }


def _date(text: str) -> date:
    plain = " ".join(re.sub(r"(\d)(?:st|nd|rd|th)\b", r"\1", text.replace(",", " ")).split())
    for form in _DATE_FORMATS:
        try:
            return datetime.strptime(plain, form).date()
        except ValueError:
            continue
    raise ToolError(f"{text!r} is not a date that exists, or it is ambiguous; write it as YYYY-MM-DD")


def _weekday(day: date) -> str:
    return _WEEKDAYS[day.weekday()]
