"""Stored profiles: in the folder of a run, and on their way there with an unfinished sweep."""

from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.results import profiles
from corda_lab.results.manifest import ProfileEntry
from corda_lab.results.profiles import TakenProfile
from support.profiler import profile_of, taken_in

FAILED = ProfileEntry(node="PartyB", problem="PartyB: another profile of it is running")


def test_all_files_of_a_profile_are_copied_and_those_of_others_are_not(tmp_path: Path) -> None:
    taken = taken_in(tmp_path / "evidence")
    taken_in(tmp_path / "evidence", "Notary")
    copied = taken.copied_to(tmp_path)
    names = {path.name for path in (tmp_path / "profiles").iterdir()}
    assert names == {f"partya-cpu.{suffix}" for suffix in ("html", "collapsed", "md", "json")}
    assert copied.entry == taken.entry
    assert profiles.read(tmp_path, copied.entry) == profile_of()


def test_the_profiles_of_an_unfinished_sweep_survive_in_a_folder(tmp_path: Path) -> None:
    first = taken_in(tmp_path / "evidence").placed(step=None, point="16 users", reason="the machine was 97 % busy")
    (tmp_path / "kept").mkdir()
    profiles.write_all(tmp_path / "kept", [first, TakenProfile(tmp_path, FAILED)])
    found, failed = profiles.read_all(tmp_path / "kept")
    assert (found.entry, failed.entry) == (first.entry, FAILED)
    assert found.entry.point == "16 users"
    assert profiles.read(found.folder, found.entry) == profile_of()
    assert profiles.read(failed.folder, failed.entry) is None


def test_a_damaged_profile_is_one_error_that_names_its_file(tmp_path: Path) -> None:
    taken = taken_in(tmp_path)
    (tmp_path / "profiles" / "partya-cpu.json").write_text("{}", encoding="utf-8")
    with pytest.raises(LabError, match=r"partya-cpu\.json: name: Field required"):
        profiles.read(tmp_path, taken.entry)


def test_what_is_not_among_the_first_ten_is_added_up() -> None:
    assert profiles.rest_words(profile_of()) == "2 further components: 0.1 %"
    assert profiles.rest_words(profile_of(components=10)) == ""
