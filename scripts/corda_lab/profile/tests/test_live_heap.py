"""The live objects of a JVM: what its histogram of classes adds up to, and one clear error without it."""

from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.lab.engine import Container
from corda_lab.profile.jvm import Jvm
from corda_lab.profile.live_heap import live_heap_bytes
from corda_lab.testing.docker import docker_client

JVM = Jvm("PartyA", Container("lab-partya-1"), 17, "4.3")
HISTOGRAM = """Connected to remote JVM
JVM response code = 0

 num     #instances         #bytes  class name
----------------------------------------------
   1:         20123        2513456  [C
   2:         19980         479520  java.lang.String
Total         40103        2992976
"""


def test_the_sum_of_the_histogram_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "histogram").write_text(HISTOGRAM, encoding="utf-8")
    script = f'echo "$@" > {tmp_path}/asked; while read -r line; do echo "$line"; done < {tmp_path}/histogram'
    docker_client(tmp_path, monkeypatch, script)
    assert live_heap_bytes(JVM) == 2_992_976
    asked = (tmp_path / "asked").read_text(encoding="utf-8")
    assert asked == "exec lab-partya-1 /network/bin/asprof jcmd 17 GC.class_histogram\n"


@pytest.mark.parametrize("script", ["echo 'no such process' >&2; exit 1", "echo Total unknown"])
def test_a_jvm_that_does_not_count_is_an_error_with_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    docker_client(tmp_path, monkeypatch, script)
    with pytest.raises(LabError, match=r"^PartyA: its JVM does not count its objects, and says: (no such|Total)"):
        live_heap_bytes(JVM)
