"""The objects of a JVM by class, and how their names read."""

from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.profile import jvm
from corda_lab.profile.jvm import ClassCount
from support.profiler import JVM, commands, jvm_client

JAVA_8 = """Connected to remote JVM
JVM response code = 0

 num     #instances         #bytes  class name
----------------------------------------------
   1:         20123        2513456  [C
   2:         19980         479520  java.lang.String
   3:             7            560  [[Ljava.lang.Object;
Total         40110        2993536
"""
JAVA_21 = """   1:  20123  2513456  [B (java.base@21.0.7)
   2:  19980   479520  java.lang.String (java.base@21.0.7)
Total  40103  2992976
"""


WARNING = "OpenJDK 64-Bit Server VM warning: GC locker is held; pre-dump GC was skipped"
CLOCK = "1795776000.123456789"


def answering(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, *, skipped: int = 0) -> Path:
    """A container whose JVM prints a histogram, and collects nothing before the first ones. Returns the log."""
    (folder / "histogram").write_text(text, encoding="utf-8")
    (folder / "counts").touch()
    script = f'echo >> {folder / "counts"}; while read -r line; do echo "$line"; done < {folder / "histogram"}'
    warn = (
        f'n=0; while read -r _; do n=$((n + 1)); done < {folder / "counts"}; [ $n -gt {skipped} ] || echo "{WARNING}"'
    )
    answers = [("GC.class_histogram", script), ("date +%s.%N", f"echo {CLOCK}"), ("logs --since", warn)]
    return jvm_client(folder, monkeypatch, answers)


def test_every_class_is_counted_with_its_name_in_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = answering(tmp_path, monkeypatch, JAVA_8)
    found = JVM.histogram()
    count = "/network/bin/asprof jcmd 17 GC.class_histogram"
    assert commands(log) == ["date +%s.%N", count, f"logs --since {CLOCK} lab-partya-1"]
    assert (found.node, found.is_live, found.instances, found.bytes) == ("PartyA", True, 40110, 2993536)
    assert found.classes == (
        ClassCount("char[]", 20123, 2513456),
        ClassCount("java.lang.String", 19980, 479520),
        ClassCount("java.lang.Object[][]", 7, 560),
    )


def test_live_objects_are_counted_again_if_nothing_was_collected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise, hundreds of megabytes of garbage count as live."""
    log = answering(tmp_path, monkeypatch, JAVA_8, skipped=2)
    assert JVM.histogram().bytes == 2993536
    assert sum("GC.class_histogram" in line for line in commands(log)) == 3


def test_a_jvm_that_never_collects_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = answering(tmp_path, monkeypatch, JAVA_8, skipped=99)
    with pytest.raises(LabError, match=r"^PartyA: its JVM collected nothing at 5 counts") as raised:
        JVM.histogram()
    assert "--all" in raised.value.remedy
    assert sum("GC.class_histogram" in line for line in commands(log)) == jvm.COUNTS_MAX


@pytest.mark.parametrize(
    ("answer", "says"),
    [("echo Process not found >&2; exit 1", "Process not found"), ("echo Total unknown", "Total unknown")],
)
def test_a_jvm_that_does_not_count_is_one_error_with_its_words(
    answer: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jvm_client(tmp_path, monkeypatch, [("GC.class_histogram", answer)])
    with pytest.raises(LabError, match=rf"^PartyA: its JVM does not count its objects, and says: {says}$"):
        JVM.histogram()


@pytest.mark.parametrize(
    ("name", "readable"),
    [
        ("[I", "int[]"),
        ("[[Z", "boolean[][]"),
        ("[Lnet.corda.core.crypto.SecureHash;", "net.corda.core.crypto.SecureHash[]"),
        ("java.util.HashMap$Node", "java.util.HashMap$Node"),
        ("<constMethodKlass>", "<constMethodKlass>"),
    ],
)
def test_the_names_of_arrays_are_those_of_java(name: str, readable: str) -> None:
    assert jvm.readable(name) == readable
