"""How much the nodes have stored, as PostgreSQL and H2 answer."""

import shutil
import subprocess
from pathlib import Path
from typing import cast

import pytest

from corda_lab.lab.lab import Lab
from corda_lab.runs import readings


def test_reads_the_sizes_that_postgresql_prints() -> None:
    assert readings.parse_sizes("partya|4096\nnotary|8192\npg_catalog|9\n\n") == {
        "partya": 4096,
        "notary": 8192,
        "pg_catalog": 9,
    }
    assert readings.parse_sizes("psql: error: connection refused\n") == {}


def test_the_command_that_compacts_leaves_nothing_behind_and_names_its_failure(tmp_path: Path) -> None:
    command = readings.COMPACT_SCRIPT.replace("/opt/corda", str(tmp_path))
    bash = shutil.which("bash") or "bash"
    done = subprocess.run([bash, "-c", command], env={}, capture_output=True, check=False)
    assert done.returncode != 0, "without H2 there is no size"
    (tmp_path / "lib").mkdir()
    (tmp_path / "persistence").mkdir()
    (tmp_path / "lib" / "h2-1.4.199.jar").touch()
    (tmp_path / "persistence" / "copy.killed").mkdir()
    (tmp_path / "persistence" / "persistence.mv.db").write_bytes(b"H:2,block:1" * 900)
    (tmp_path / "bin").mkdir()
    # In place of Java: it halves the file that is named last.
    java = tmp_path / "bin" / "java"
    java.write_text('#!/bin/bash\nfile="${@: -1}"\ntruncate --size=4950 "$file"\necho compacted\n')
    java.chmod(0o755)
    environment = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
    done = subprocess.run([bash, "-c", command], env=environment, capture_output=True, check=False)
    assert done.stdout.strip() == b"4950"
    assert (tmp_path / "persistence" / "persistence.mv.db").stat().st_size == 9900, "the node's own file is untouched"
    assert [path.name for path in (tmp_path / "persistence").iterdir()] == ["persistence.mv.db"]


class Node:
    """A node whose file is copied well only after some tries."""

    def __init__(self, bad: int) -> None:
        self.bad, self.copies = bad, 0

    def exec(self, *_arguments: str, **_options: object) -> subprocess.CompletedProcess[str]:
        self.copies += 1
        return subprocess.CompletedProcess([], *((1, "", "") if self.copies <= self.bad else (0, "4950\n", "")))


def test_a_copy_that_was_made_while_the_node_wrote_is_made_again(capsys: pytest.CaptureFixture[str]) -> None:
    node = Node(bad=readings.COMPACT_TRIES - 1)
    assert readings.compacted(cast(Lab, node), ["PartyA"]).bytes == {"PartyA": 4950}
    assert "not known" not in capsys.readouterr().out
    node = Node(bad=readings.COMPACT_TRIES)
    assert readings.compacted(cast(Lab, node), ["PartyA"]) == readings.Stored({}, None)
    assert node.copies == readings.COMPACT_TRIES
    assert "no copy of its file could be compacted" in capsys.readouterr().out
