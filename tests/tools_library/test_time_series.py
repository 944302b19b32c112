from __future__ import annotations

from collections.abc import Callable

import pytest

from captain.errors import ToolError
from tools_library import time_series

Table = Callable[[str], str]

SALES = "day,v\n2024-04-02,8\n2024-01-01,1\n2024-01-31,3\n2024-02-29,4\n2024-02-10,\n,7\nlater,9\n"


def test_periods_are_aggregated(table: Table) -> None:
    path = table(SALES)
    assert time_series.resample_time_series(path, "day", "v").splitlines() == [
        "month,mean(v),count,change_percent",
        "2024-01,2,2,",
        "2024-02,4,1,100",
        "2024-03,,0,",
        "2024-04,8,1,",
    ]
    assert time_series.resample_time_series(path, "day", "v", "quarter", "sum").splitlines()[1:] == [
        "2024Q1,8,3,",
        "2024Q2,8,1,0",
    ]
    assert time_series.resample_time_series(path, "day", "v", "year", "maximum").splitlines()[1:] == ["2024,8,4,"]
    weeks = time_series.resample_time_series(path, "day", "v", "week", "count").splitlines()
    assert weeks[1] == "2024-01-01/2024-01-07,1,1,"


def test_a_long_series_is_cut_to_its_end(table: Table) -> None:
    text = time_series.resample_time_series(table("day,v\n1900-01-01,1\n2024-12-31,2\n"), "day", "v", "month")
    assert len(text.splitlines()) == 121 and text.splitlines()[-1].startswith("2024-12,2")


def test_moving_averages_by_hand(table: Table) -> None:
    path = table("day,v\n2024-01-03,30\n2024-01-01,10\n2024-01-02,\n2024-01-04,80\n")
    assert time_series.rolling_statistic(path, "v", 2).splitlines() == ["row,v,mean_2", "1,30,", "2,10,20", "4,80,45"]
    ordered = time_series.rolling_statistic(path, "v", 2, "maximum", "day").splitlines()
    assert ordered == ["day,v,maximum_2", "2024-01-01,10,", "2024-01-03,30,30", "2024-01-04,80,80"]
    assert len(time_series.rolling_statistic(path, "v", 3, show=1).splitlines()) == 2


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda path: time_series.resample_time_series(path, "day", "v", "decade"), "period must be"),
        (lambda path: time_series.resample_time_series(path, "day", "v", function="mode"), "function must be"),
        (lambda path: time_series.resample_time_series(path, "w", "v"), "no column 'w'"),
        (lambda path: time_series.resample_time_series(path, "v", "v"), "no dates"),
        (lambda path: time_series.rolling_statistic(path, "v", 1), "from 2"),
        (lambda path: time_series.rolling_statistic(path, "v", 50), "at least 50"),
        (lambda path: time_series.rolling_statistic(path, "v", 6, date_column="day"), "window needs 6"),
    ],
)
def test_series_that_cannot_be_computed(table: Table, call: Callable[[str], str], problem: str) -> None:
    with pytest.raises(ToolError, match=problem):
        call(table(SALES))
