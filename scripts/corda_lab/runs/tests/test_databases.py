"""How much the nodes have stored, as PostgreSQL and H2 answer."""

import shutil
import subprocess
from pathlib import Path

from corda_lab.runs import databases


def test_reads_the_sizes_that_postgresql_prints() -> None:
    assert databases.parse_sizes("partya|4096\nnotary|8192\npg_catalog|9\n\n") == {
        "partya": 4096,
        "notary": 8192,
        "pg_catalog": 9,
    }
    assert databases.parse_sizes("psql: error: connection refused\n") == {}


def test_the_command_that_compacts_leaves_nothing_behind_and_names_its_failure(tmp_path: Path) -> None:
    command = databases.COMPACT_COMMAND.replace("/opt/corda", str(tmp_path))
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
