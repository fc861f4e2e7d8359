"""``lab placement check``: what runs where, or one line for every mistake. No engine is asked."""

import re
from pathlib import Path

import pytest

from corda_lab.cli import placement
from corda_lab.errors import LabError
from corda_lab.knobs.shape import SHAPE_OPTIONS

SMALL = """\
description: everything on one host
overlay: plain
hosts:
  all:
    cores: 8
    memory: 32g
    services:
      nodes: {cores: 1, memory: 2g}
      bridge: {cores: 0.5, memory: 1g}
      locust: {cores: 0.5, memory: 1g}
      prometheus: {cores: 0.25, memory: 1g}
      grafana: {cores: 0.25, memory: 1g}
    workers: {count: 2, cores: 0.5, memory: 1g}
"""


@pytest.fixture(autouse=True)
def _no_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")


def check(name: str, **given: object) -> None:
    placement.check(name, **{option.name: None for option in SHAPE_OPTIONS} | given)


def test_every_host_is_shown_with_what_it_runs_and_keeps_free(capsys: pytest.CaptureFixture[str]) -> None:
    check("one-node-per-host", parties=2)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["host", "cores", "memory", "services"]
    rows = {line.split()[0]: re.split(" {2,}", line.strip()) for line in lines[1:-4]}
    assert list(rows) == ["notary", "partya", "partyb", "bridge", "generator"]
    assert rows["partya"] == ["partya", "3 of 4", "2 GiB of 8 GiB", "partya"]
    assert rows["bridge"][-1] == "bridge, grafana, prometheus"
    assert [line.strip() for line in lines[-4:]] == [
        "5 hosts. Each needs its name as a label, on a manager of the swarm:",
        "docker node update --label-add corda-lab.host=notary NODE",
        "and a docker context of the same name:",
        "docker context create notary --docker host=ssh://USER@ADDRESS",
    ]


def test_workers_are_shown_and_counted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(SMALL, encoding="utf-8")
    check(str(path), parties=2)
    shown = capsys.readouterr().out
    assert "5.5 of 8" in shown
    assert "2 workers" in shown


def test_nodes_may_have_more_cores_than_this_machine() -> None:
    with pytest.raises(LabError, match="3 cores are reserved, but the limit of each node is 1000"):
        check("one-node-per-host", cores=1000)


def test_an_impossible_shape_is_one_line() -> None:
    with pytest.raises(LabError, match="NOTARY: "):
        check("one-node-per-host", notary="jpa")
