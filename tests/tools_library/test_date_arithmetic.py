from __future__ import annotations

import pytest

from captain.errors import ToolError
from tools_library import date_arithmetic as dates


def test_dates() -> None:
    assert dates.days_between_dates("2024-02-28", "March 1, 2024")["days"] == 2
    assert dates.days_between_dates("1900-02-28", "1900-03-01")["days"] == 1  # 1900 was no leap year
    assert dates.days_between_dates("20 July 1969", "1969-07-20")["start_weekday"] == "Sunday"  # the Moon landing
    assert dates.days_between_dates("2024-03-01", "2024-02-01")["days"] == -29
    for wrong in ("2023-02-29", "03/04/2024", "yesterday"):
        with pytest.raises(ToolError, match="YYYY-MM-DD"):
            dates.days_between_dates(wrong, "2024-01-01")


@pytest.mark.parametrize(
    ("start", "shift", "found"),
    [
        ("2024-02-28", {"days": 2}, "2024-03-01"),
        ("1900-02-28", {"days": 1}, "1900-03-01"),
        ("2024-01-31", {"months": 1}, "2024-02-29"),
        ("2024-02-29", {"years": 1}, "2025-02-28"),
        ("2024-03-31", {"months": -13}, "2023-02-28"),
        ("20 July 1969", {"weeks": 1, "days": -7}, "1969-07-20"),
    ],
)
def test_dates_are_shifted(start: str, shift: dict[str, int], found: str) -> None:
    assert dates.shift_date(start, **shift)["date"] == found


def test_weekdays_are_shifted_whatever_their_case() -> None:
    assert dates.shift_date("friday", days=10) == {"weekday": "Monday"}
    assert dates.shift_date("FRI", days=-1) == {"weekday": "Thursday"}
    assert dates.shift_date("Sunday", days=7 * 10**12 + 1) == {"weekday": "Monday"}
    assert dates.shift_date("2000-01-01") == {
        "date": "2000-01-01",
        "weekday": "Saturday",
        "day_of_year": 1,
        "iso_week": 52,
    }


def test_shifts_that_lead_nowhere() -> None:
    for start, shift, problem in [
        ("9999-12-31", {"days": 1}, "years 1 to 9999"),
        ("2024-01-01", {"years": -3000}, "years 1 to 9999"),
        ("2024-01-01", {"days": 10**12}, "years 1 to 9999"),
        ("monday", {"months": 1}, "give a date"),
        ("someday", {}, "YYYY-MM-DD"),
    ]:
        with pytest.raises(ToolError, match=problem):
            dates.shift_date(start, **shift)
