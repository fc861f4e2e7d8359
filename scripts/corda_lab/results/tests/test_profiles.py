"""Stored profiles in the folder of a run."""

from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.results import profiles
from support.profiler import profile_of, taken_in


def test_a_damaged_profile_is_one_error_that_names_its_file(tmp_path: Path) -> None:
    taken = taken_in(tmp_path)
    (tmp_path / "profiles" / "partya-cpu.json").write_text("{}", encoding="utf-8")
    with pytest.raises(LabError, match=r"partya-cpu\.json: total: Field required"):
        profiles.read(tmp_path, taken)


def test_what_is_not_among_the_first_ten_is_added_up() -> None:
    assert profiles.rest_words(profile_of()) == "2 further components: 0.1 %"
    assert profiles.rest_words(profile_of(components=10)) == ""
