"""Repeats are small files that can be read, compared and added up."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.figures import repeats as store
from corda_lab.figures.figure import Figure
from corda_lab.figures.measure import collect
from corda_lab.figures.repeats import Repeat, digest_of, kept, seconds_of
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.results.stored import StoredRun
from support import figures
from support.claims import figure_of, repeat_of


@pytest.fixture
def repeats(bursts: StoredRun) -> tuple[Repeat, ...]:
    return collect(bursts, ["p50", "throughput"]).repeats


@pytest.fixture
def figure(bursts: StoredRun) -> Figure:
    (figure,) = figures.read(bursts.folder.parent.parent / "figures")
    return figure


def test_what_is_written_is_read(repeats: tuple[Repeat, ...], tmp_path: Path) -> None:
    paths = store.write(repeats, tmp_path)
    assert store.read(tmp_path) == list(repeats)
    assert [path.parent.name for path in paths] == ["bursts"] * 3
    assert all(path.name.endswith("Z-full.json") for path in paths)
    assert store.write(repeats, tmp_path) == paths
    text = paths[0].read_text(encoding="utf-8")
    assert sum('"values"' in line for line in text.splitlines()) == len(repeats[0].points)
    assert json.loads(text)["points"][0]["metrics"].keys() == {"p50", "throughput"}


def test_damaged_files_are_named_with_their_field(repeats: tuple[Repeat, ...], tmp_path: Path) -> None:
    path, other, _ = store.write(repeats, tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace('"form": "full"', '"form": "short"'), encoding="utf-8")
    other.write_text("{", encoding="utf-8")
    with pytest.raises(LabError) as error:
        store.read(tmp_path)
    first, second = error.value.problems
    assert first.finding.startswith(f"{path}: form: ")
    assert str(other) in second.finding


def test_a_file_with_another_name_is_refused_so_that_no_repeat_counts_twice(
    repeats: tuple[Repeat, ...], tmp_path: Path
) -> None:
    path, *_ = store.write(repeats, tmp_path)
    path.with_name("copy.json").write_bytes(path.read_bytes())
    with pytest.raises(LabError, match=f"its name must be bursts/{path.name}"):
        store.read(tmp_path)


def test_only_repeats_of_what_the_file_says_now_are_joined(repeats: tuple[Repeat, ...], figure: Figure) -> None:
    digest = digest_of(figure.in_form("quick"))
    short = repeats[0].model_copy(update={"form": "quick", "sweep_digest": digest})
    old = repeats[0].model_copy(update={"sweep_digest": "another"})
    other = repeats[0].model_copy(update={"sweep": "other"})
    found = kept(figure, [*repeats, short, old, other])
    assert (found.of("full"), found.of("quick")) == (repeats, (short,))
    assert found.outdated == ((old, "measured before the sweep changed"),)
    assert found.chosen == repeats
    assert kept(figure, [*repeats[:2], short]).chosen == (short,)


def test_a_repeat_with_another_workload_or_preset_is_not_judged(repeats: tuple[Repeat, ...], figure: Figure) -> None:
    first, second, _ = repeats
    assert first.files.keys() == {"workload iou"}
    unnamed = first.model_copy(update={"files": {}})
    other = first.model_copy(update={"files": {**first.files, "preset tuned": "0" * 16, "workload gone": "0" * 16}})
    found = kept(figure, [unnamed, second, other])
    # What a repeat does not say is not held against it.
    assert found.current == (unnamed, second)
    (line,) = found.outdated_words
    assert line.startswith("1 repeat, full, ")
    assert line.endswith(": measured with another preset tuned and workload gone")


@pytest.mark.parametrize(
    ("took", "minutes"),
    # The start that only the first repeat has is part of the time; a single repeat stands for all.
    [([12, 9, 9], 30), ([12], 36)],
)
def test_a_sweep_takes_as_long_as_its_repeats_took(tmp_path: Path, took: Sequence[float], minutes: float) -> None:
    claim = "name: a, says: 1, ratio: p50, of: {load.users: 10}, to: {load.users: 1}, within: [1, 2]"
    stored = [
        repeat_of(number, lambda _: {"p50": 1.0}).model_copy(update={"seconds": 60 * one})
        for number, one in enumerate(took, start=1)
    ]
    sweep = figure_of(tmp_path, claim).in_form("quick")
    assert seconds_of(sweep, load_settings(ENV_FILE, {}), stored) / 60 == pytest.approx(minutes)
