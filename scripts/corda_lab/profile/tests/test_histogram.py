"""The objects of a JVM by class, and how their names read."""

from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.profile import histogram
from corda_lab.profile.histogram import ClassCount
from corda_lab.testing.profiler import JVM, commands, jvm_client

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


def answering(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> Path:
    """A container whose JVM prints a histogram. Returns the log of its commands."""
    (folder / "histogram").write_text(text, encoding="utf-8")
    script = f'while read -r line; do echo "$line"; done < {folder / "histogram"}'
    return jvm_client(folder, monkeypatch, [("GC.class_histogram", script)])


def test_every_class_is_counted_with_its_name_in_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = answering(tmp_path, monkeypatch, JAVA_8)
    found = histogram.count(JVM)
    assert commands(log) == ["/network/bin/asprof jcmd 17 GC.class_histogram"]
    assert (found.node, found.is_live, found.instances, found.bytes) == ("PartyA", True, 40110, 2993536)
    assert found.classes == (
        ClassCount("char[]", 20123, 2513456),
        ClassCount("java.lang.String", 19980, 479520),
        ClassCount("java.lang.Object[][]", 7, 560),
    )


def test_the_modules_of_a_newer_java_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answering(tmp_path, monkeypatch, JAVA_21)
    assert [one.name for one in histogram.count(JVM).classes] == ["byte[]", "java.lang.String"]


def test_garbage_is_counted_only_if_that_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = answering(tmp_path, monkeypatch, JAVA_8)
    assert not histogram.count(JVM, histogram.ALL).is_live
    assert commands(log) == ["/network/bin/asprof jcmd 17 GC.class_histogram -all"]


def test_a_jvm_that_ended_is_one_error_with_its_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jvm_client(tmp_path, monkeypatch, [("GC.class_histogram", "echo Process not found >&2; exit 1")])
    with pytest.raises(LabError, match=r"^PartyA: its JVM does not count its objects, and says: Process not found$"):
        histogram.count(JVM)


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
    assert histogram.readable(name) == readable
