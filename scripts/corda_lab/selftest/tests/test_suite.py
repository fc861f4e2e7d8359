"""How the suite adds up what it runs."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from corda_lab.host import processes
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE, ROOT
from corda_lab.selftest import suite
from corda_lab.selftest.linters import Linter
from corda_lab.selftest.parts import EVERY_TIME, LongSuite, SuitePart


def alone(folder: Path) -> Sequence[str]:
    """Arguments with which pytest sees a folder's tests and nothing of this project."""
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return [str(folder), "-c", str(folder / "pytest.ini"), "--rootdir", str(folder)]


def test_reads_what_pytest_counted() -> None:
    text = '<testsuites><testsuite tests="10" failures="1" errors="1" skipped="2"/></testsuites>'
    assert suite.parse_junit(text) == (6, 4)


def test_the_time_of_some_modules_is_added_up() -> None:
    cases = (("tests.e2e.test_audit", 1.5), ("tests.e2e.test_audit_more", 9), ("tests.e2e.test_chaos", 2))
    text = "".join(f'<testcase classname="{name}" name="t" time="{seconds}" />' for name, seconds in cases)
    found = suite.seconds_of(f"<testsuites><testsuite>{text}</testsuite></testsuites>", {"test_audit", "test_chaos"})
    assert found == 3.5


def test_counts_the_tests_of_a_real_pytest_run(tmp_path: Path) -> None:
    tests = tmp_path / "test_some.py"
    tests.write_text("def test_a(): pass\ndef test_b(): pass\ndef test_c(): assert False\n", encoding="utf-8")
    outcome = suite.run_pytest(str(tmp_path / "self"), alone(tmp_path), seconds_max=60)
    assert (outcome.passed, outcome.failed) == (2, 1)
    assert "test_c" in outcome.output


@pytest.mark.parametrize("content", ["import does_not_exist", "", "def broken(:"])
def test_a_run_that_breaks_off_or_finds_nothing_has_failed(tmp_path: Path, content: str) -> None:
    (tmp_path / "test_none.py").write_text(content, encoding="utf-8")
    outcome = suite.run_pytest(str(tmp_path / "self"), alone(tmp_path), seconds_max=60)
    assert (outcome.passed, outcome.failed) == (0, 1)


def test_a_check_is_one_and_keeps_its_output() -> None:
    good = suite.run_check([sys.executable, "-c", "print('fine')"])
    bad = suite.run_check([sys.executable, "-c", "import sys; sys.exit('wrong')"])
    assert (good.passed, good.failed, good.output) == (1, 0, "fine\n")
    assert (bad.passed, bad.failed, bad.output) == (0, 1, "wrong\n")


def test_a_check_that_hangs_is_ended() -> None:
    outcome = suite.run_check([sys.executable, "-c", "import time; time.sleep(600)"], seconds_max=0.5)
    assert outcome.failed == 1
    assert "did not finish within" in outcome.output


def test_a_long_check_says_what_it_is_at(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(suite, "REPORT_EVERY_SECONDS", 0.0)
    monkeypatch.setattr(processes, "POLL_SECONDS", 0.2)
    outcome = suite.run_check([sys.executable, "-c", "import time; print('half done', flush=True); time.sleep(2)"])
    assert (outcome.passed, outcome.output) == (1, "half done\n")
    assert "s: half done" in capsys.readouterr().out


def test_the_closing_line_is_the_one_that_ci_reads() -> None:
    totals = suite.Totals()
    totals.add(3, 1)
    totals.add(4, 0)
    assert totals.closing_line == "7 passed, 1 failed"


@pytest.mark.parametrize(
    ("parts", "expression"),
    [
        (EVERY_TIME, ["-m", "not slow"]),
        ({LongSuite.SLOW}, ["-m", "slow"]),
        ({*EVERY_TIME, LongSuite.SLOW}, []),
    ],
)
def test_slow_tests_run_only_when_they_are_asked_for(parts: set[SuitePart | LongSuite], expression: list[str]) -> None:
    assert suite.marked(parts) == expression


def test_a_single_part_runs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    # No engine is within reach: the linters do not need one.
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    monkeypatch.setattr(suite, "LINTERS", (Linter("python", ("python", "--version")),))
    monkeypatch.setattr(suite, "ensure_tools", lambda: None)
    totals = suite.Totals()
    suite.run(totals, load_settings(), {SuitePart.LINT}, None)
    assert (totals.passed, totals.failed) == (1, 0)


def test_what_a_dockerfile_takes_is_given_to_its_build() -> None:
    settings = load_settings(ENV_FILE, {"MAVEN_IMAGE": "mirror/maven:3"})
    for name, dockerfile, target in suite.JAVA_BUILDS:
        command = suite.build_command(settings, name, dockerfile, target)
        assert "--build-arg=MAVEN_IMAGE=mirror/maven:3" in command
        assert f" AS {target}" in (ROOT / dockerfile).read_text(encoding="utf-8")


def test_the_shell_that_ci_starts_is_valid() -> None:
    assert subprocess.run(["bash", "-n", str(ROOT / ".ci" / "run")], check=False).returncode == 0
