"""How the runner adds up what it runs, and which tests it chooses."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

import runner
from corda_lab.cli.deeper import Part, Suite
from corda_lab.host import processes
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.paths import ENV_FILE, ROOT
from runner import Runner, execute

HOOKS = ROOT / ".pre-commit-config.yaml"

LINTED = """\
ruff format..............................................................Passed
- hook id: ruff-format
- duration: 0.25s

All good.

mypy.....................................................................Failed
- hook id: mypy
- duration: 61.5s
- exit code: 1

runner.py:1: error: wrong

citation.............................................(no files to check)Skipped
- hook id: citation
"""


@pytest.fixture
def one() -> Runner:
    return Runner(600)


@pytest.fixture
def alone(tmp_path: Path) -> Sequence[str]:
    """Arguments with which pytest sees the tests of a folder and nothing of this project."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return [str(tmp_path), "-c", str(tmp_path / "pytest.ini"), "--rootdir", str(tmp_path)]


def test_the_verb_accepts_what_the_runner_has() -> None:
    assert tuple(Part) == runner.PARTS
    assert set(Suite) == runner.SECONDS_MAX.keys()


def test_reads_what_pytest_counted() -> None:
    text = '<testsuites><testsuite tests="10" failures="1" errors="1" skipped="2"/></testsuites>'
    assert runner.parse_junit(text) == (6, 4)


def test_counts_the_tests_of_a_real_pytest_run_and_shows_what_failed(
    tmp_path: Path, one: Runner, alone: Sequence[str], capsys: pytest.CaptureFixture[str]
) -> None:
    tests = tmp_path / "test_some.py"
    tests.write_text("def test_a(): pass\ndef test_b(): pass\ndef test_c(): assert False\n", encoding="utf-8")
    one.pytest(str(tmp_path / "report"), *alone)
    assert one.closing_line == "2 passed, 1 failed", "this is the line that CI reads"
    assert "assert False" in capsys.readouterr().out


@pytest.mark.parametrize("content", ["import does_not_exist", "", "def broken(:"])
def test_a_run_that_breaks_off_or_finds_nothing_has_failed(
    tmp_path: Path, one: Runner, alone: Sequence[str], content: str
) -> None:
    (tmp_path / "test_none.py").write_text(content, encoding="utf-8")
    one.pytest(str(tmp_path / "report"), *alone)
    assert (one.passed, one.failed) == (0, 1)


def test_image_builds_run_beside_each_other_and_count_one_each(
    monkeypatch: pytest.MonkeyPatch, one: Runner, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each waits for the other, so that neither would end alone."""
    program = "import pathlib, sys, time\nmine, other = map(pathlib.Path, sys.argv[1:])\nmine.touch()\n"
    program += "while not other.exists(): time.sleep(0.01)\nsys.exit('wrong' if mine.name == 'b' else 0)"
    files = {"a": ("a", "b"), "b": ("b", "a")}

    def command(_settings: Settings, name: str, _dockerfile: str, _target: str) -> list[str]:
        return [sys.executable, "-c", program, *(str(tmp_path / file) for file in files[name])]

    monkeypatch.setattr(runner, "build_command", command)
    monkeypatch.setattr(runner, "CACHE", tmp_path / "cache")
    runner.java_tests(one, load_settings(ENV_FILE, {}), [(name, "Dockerfile", name) for name in files])
    assert (one.passed, one.failed) == (1, 1)
    assert "| wrong" in capsys.readouterr().out


def test_what_runs_over_the_time_limit_is_ended() -> None:
    status, output = execute([sys.executable, "-c", "import time; time.sleep(600)"], seconds_max=0.5)
    assert status == 124
    assert "did not finish within" in output


def test_a_long_check_says_what_it_is_at(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(runner, "REPORT_EVERY_SECONDS", 0.0)
    monkeypatch.setattr(processes, "POLL_SECONDS", 0.2)
    program = "import time; print('half done', flush=True); time.sleep(2)"
    assert execute([sys.executable, "-c", program], seconds_max=60) == (0, "half done\n")
    assert "s: half done" in capsys.readouterr().out


def test_each_hook_of_pre_commit_counts_and_one_without_files_has_failed() -> None:
    found = [(name, seconds, outcome.passed, outcome.failed) for name, seconds, outcome in runner.hooks(LINTED)]
    assert found == [("ruff format", 0.25, 1, 0), ("mypy", 61.5, 0, 1), ("citation", 0.0, 0, 1)]
    assert [outcome.output for _, _, outcome in runner.hooks(LINTED)][1].endswith("error: wrong\n\n")


def test_hooks_need_no_network() -> None:
    (repository,) = yaml.safe_load(HOOKS.read_text(encoding="utf-8"))["repos"]
    assert repository["repo"] == "local"
    assert {hook["language"] for hook in repository["hooks"]} == {"system"}


def test_a_part_that_needs_no_engine_runs_without(monkeypatch: pytest.MonkeyPatch, one: Runner) -> None:
    monkeypatch.setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
    monkeypatch.setattr(runner, "LINT", (sys.executable, "-c", f"print({LINTED!r})"))
    runner.run_parts(one, ["lint"], None)
    assert (one.passed, one.failed) == (1, 2)


def test_what_a_dockerfile_takes_is_given_to_its_build() -> None:
    settings = load_settings(ENV_FILE, {"MAVEN_IMAGE": "mirror/maven:3"})
    for name, dockerfile, target in (*runner.NODE_BUILDS, *runner.BRIDGE_BUILDS, *runner.NIGHTLY_BUILDS):
        command = runner.build_command(settings, name, dockerfile, target)
        assert "--build-arg=MAVEN_IMAGE=mirror/maven:3" in command
        assert f" AS {target}" in (ROOT / dockerfile).read_text(encoding="utf-8")


@pytest.mark.parametrize("script", [".ci/run", "scripts/test"])
def test_a_shell_script_is_valid(script: str) -> None:
    assert subprocess.run(["bash", "-n", str(ROOT / script)], check=False).returncode == 0
