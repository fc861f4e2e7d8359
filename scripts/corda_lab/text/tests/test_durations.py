"""Lengths of time on the command line."""

import pytest

from corda_lab.errors import LabError
from corda_lab.text.durations import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("60s", 60.0),
        ("2m", 120.0),
        ("1m30s", 90.0),
        ("1h", 3600.0),
        ("500ms", 0.5),
        ("15", 15.0),
        (" 1M 5S ", 65.0),
        ("0", 0.0),
    ],
)
def test_reads_what_people_write(text: str, seconds: float) -> None:
    assert parse_duration(text, option="--duration") == seconds


@pytest.mark.parametrize("text", ["", "abc", "-5s", "5 apples", "1e9s", "s", "nan", "inf", "60s60", "--"])
def test_names_the_option_for_what_is_no_time(text: str) -> None:
    with pytest.raises(LabError, match=r"^--duration: .* is not a duration$") as caught:
        parse_duration(text, option="--duration")
    assert "60s" in caught.value.remedy


@pytest.mark.parametrize(("text", "word"), [("0.5s", "short"), ("25h", "long")])
def test_keeps_to_limits(text: str, word: str) -> None:
    with pytest.raises(LabError, match=f"is too {word}"):
        parse_duration(text, option="--warm-up", seconds_min=1)


@pytest.mark.parametrize(
    ("seconds", "text"), [(60, "1m"), (90, "1m30s"), (0.5, "0.5s"), (3600, "1h"), (0, "0s"), (3661.25, "1h1m1.25s")]
)
def test_formats_so_that_it_reads_back(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
    assert parse_duration(text, option="x") == seconds
