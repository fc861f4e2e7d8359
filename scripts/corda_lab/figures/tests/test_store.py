"""Repeats are small files that can be read, compared and added up."""

import json
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.figures import store
from corda_lab.figures.measure import collect
from corda_lab.figures.repeat import Repeat
from corda_lab.figures.store import digest_of, in_form
from corda_lab.results.stored import StoredRun
from corda_lab.sweeps.file import read_sweep


@pytest.fixture
def repeats(bursts: StoredRun) -> tuple[Repeat, ...]:
    return collect(bursts, ["p50", "throughput"]).repeats


def test_what_is_written_is_read(repeats: tuple[Repeat, ...], tmp_path: Path) -> None:
    paths = store.write(repeats, tmp_path)
    assert store.read(tmp_path) == list(repeats)
    assert [path.parent.name for path in paths] == ["bursts"] * 3
    assert all(path.name.endswith("Z-full.json") for path in paths)


def test_a_repeat_that_is_written_again_is_the_same_file(repeats: tuple[Repeat, ...], tmp_path: Path) -> None:
    assert store.write(repeats, tmp_path) == store.write(repeats, tmp_path)
    assert len(store.read(tmp_path)) == len(repeats)


def test_a_file_has_a_line_for_each_point(repeats: tuple[Repeat, ...], tmp_path: Path) -> None:
    path, *_ = store.write(repeats, tmp_path)
    text = path.read_text(encoding="utf-8")
    assert sum('"values"' in line for line in text.splitlines()) == len(repeats[0].points)
    assert json.loads(text)["points"][0]["metrics"].keys() == {"p50", "throughput"}
    assert len(text) < 4_000


def test_a_damaged_file_is_named_with_its_field(repeats: tuple[Repeat, ...], tmp_path: Path) -> None:
    path, other, _ = store.write(repeats, tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace('"form": "full"', '"form": "short"'), encoding="utf-8")
    other.write_text("{", encoding="utf-8")
    with pytest.raises(LabError) as error:
        store.read(tmp_path)
    first, second = error.value.problems
    assert str(path) in first.finding
    assert "form: " in first.finding
    assert str(other) in second.finding


def test_a_file_whose_name_says_something_else_is_refused(repeats: tuple[Repeat, ...], tmp_path: Path) -> None:
    path, *_ = store.write(repeats, tmp_path)
    path.rename(path.with_name(path.name.replace("full", "quick")))
    with pytest.raises(LabError, match="its name does not say what it has"):
        store.read(tmp_path)


def test_only_repeats_of_what_the_file_says_now_are_joined(repeats: tuple[Repeat, ...], bursts: StoredRun) -> None:
    sweep = read_sweep(bursts.folder.parent.parent / "figures" / "sweeps" / "bursts.yaml")
    short = repeats[0].model_copy(update={"form": "quick", "sweep_digest": digest_of(in_form(sweep, "quick"))})
    old = repeats[0].model_copy(update={"sweep_digest": "another"})
    other = repeats[0].model_copy(update={"sweep": "other"})
    kept = store.kept(sweep, [*repeats, short, old, other])
    assert kept.of("full") == repeats
    assert kept.of("quick") == (short,)
    assert kept.outdated == (store.Outdated(old, "measured before the sweep changed"),)


def test_a_repeat_with_another_workload_or_preset_is_not_judged(repeats: tuple[Repeat, ...], bursts: StoredRun) -> None:
    sweep = read_sweep(bursts.folder.parent.parent / "figures" / "sweeps" / "bursts.yaml")
    first, second, _ = repeats
    assert first.files.keys() == {"workload iou"}
    unnamed = first.model_copy(update={"files": {}})
    other = first.model_copy(update={"files": {**first.files, "preset tuned": "0" * 16, "workload gone": "0" * 16}})
    kept = store.kept(sweep, [unnamed, second, other])
    # What a repeat does not say is not held against it.
    assert kept.of("full") == (unnamed, second)
    assert [one.why for one in kept.outdated] == ["measured with another preset tuned and workload gone"]
    (line,) = store.outdated_words(kept.outdated)
    assert line.startswith("1 repeat, full, ")
    assert line.endswith(": measured with another preset tuned and workload gone")
