"""Repeats are small files that can be read, compared and added up."""

import json
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.figures import repeats as store
from corda_lab.figures.figure import Figure
from corda_lab.figures.measure import collect
from corda_lab.figures.repeats import Repeat, digest_of, kept
from corda_lab.results.stored import StoredRun
from support import figures


@pytest.fixture
def repeats(bursts: StoredRun) -> list[Repeat]:
    return collect(bursts, ["p50", "throughput"]).repeats


@pytest.fixture
def figure(bursts: StoredRun) -> Figure:
    (figure,) = figures.read(bursts.folder.parent.parent / "figures")
    return figure


def test_what_is_written_is_read(repeats: list[Repeat], tmp_path: Path) -> None:
    paths = store.write(repeats, tmp_path)
    assert store.read(tmp_path) == repeats
    assert [path.parent.name for path in paths] == ["bursts"] * 3
    assert all(path.name.endswith("Z-full.json") for path in paths)
    assert store.write(repeats, tmp_path) == paths
    text = paths[0].read_text(encoding="utf-8")
    assert sum('"values"' in line for line in text.splitlines()) == len(repeats[0].points)
    assert json.loads(text)["points"][0]["metrics"].keys() == {"p50", "throughput"}


def test_a_damaged_file_is_named_with_its_field(repeats: list[Repeat], tmp_path: Path) -> None:
    path, *_ = store.write(repeats, tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace('"form": "full"', '"form": "short"'), encoding="utf-8")
    with pytest.raises(LabError, match="form") as error:
        store.read(tmp_path)
    assert str(path) in error.value.message


def test_a_file_with_another_name_is_refused_so_that_no_repeat_counts_twice(
    repeats: list[Repeat], tmp_path: Path
) -> None:
    path, *_ = store.write(repeats, tmp_path)
    path.with_name("copy.json").write_bytes(path.read_bytes())
    with pytest.raises(LabError, match=f"its name must be bursts/{path.name}"):
        store.read(tmp_path)


def test_only_repeats_of_what_the_file_says_now_are_joined(repeats: list[Repeat], figure: Figure) -> None:
    digest = digest_of(figure.in_form("quick"))
    short = repeats[0].model_copy(update={"form": "quick", "sweep_digest": digest})
    old = repeats[0].model_copy(update={"sweep_digest": "another"})
    other = repeats[0].model_copy(update={"sweep": "other"})
    found = kept(figure, [*repeats, short, old, other])
    assert (found.of("full"), found.of("quick")) == (tuple(repeats), (short,))
    assert found.outdated == ("1 repeat, full: measured before the sweep changed",)
    assert found.chosen == tuple(repeats)
    assert kept(figure, [*repeats[:2], short]).chosen == (short,)


def test_a_repeat_with_another_workload_or_preset_is_not_judged(repeats: list[Repeat], figure: Figure) -> None:
    first, second, _ = repeats
    assert first.files.keys() == {"workload iou"}
    unnamed = first.model_copy(update={"files": {}})
    other = first.model_copy(update={"files": {**first.files, "preset tuned": "0" * 16, "workload gone": "0" * 16}})
    found = kept(figure, [unnamed, second, other])
    # What a repeat does not say is not held against it.
    assert found.current == (unnamed, second)
    assert found.outdated == ("1 repeat, full: measured with another preset tuned and workload gone",)
