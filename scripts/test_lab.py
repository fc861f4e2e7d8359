"""``scripts/lab`` from nothing: in a folder of its own, with the real interpreter and a real virtual environment.

To make one takes five seconds of CPU time. One test does; the others get copies of one.
"""

import ast
import hashlib
import os
import pty
import runpy
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from bare import debian
from corda_lab.paths import ROOT

LAUNCHER = ROOT / "scripts" / "lab"
COMMAND = "import sys\nprint('arguments', sys.argv[1:])\nprint('prefix', sys.prefix)\n"

VENV = """\
import shutil, sys
if __name__ == "__main__":
    shutil.copytree({made!r}, sys.argv[1], symlinks=True)
"""
"""A module ``venv`` that copies an environment in place of making one."""


@pytest.fixture(scope="module")
def copying_venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that, on the Python path, makes ``python -m venv`` copy a real environment."""
    folder = tmp_path_factory.mktemp("venv")
    made = folder / "made"
    subprocess.run([sys.executable, "-m", "venv", str(made)], check=True)
    (folder / "venv.py").write_text(VENV.format(made=str(made)), encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def copied_environments(monkeypatch: pytest.MonkeyPatch, copying_venv: Path) -> None:
    monkeypatch.setenv("PYTHONPATH", str(copying_venv))


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with the launcher, an empty list of requirements and a command line that only says what it got."""
    package = tmp_path / "scripts" / "corda_lab"
    package.mkdir(parents=True)
    shutil.copy(LAUNCHER, tmp_path / "scripts" / "lab")
    shutil.copytree(
        ROOT / "scripts" / "bare", tmp_path / "scripts" / "bare", ignore=shutil.ignore_patterns("tests", "__pycache__")
    )
    (tmp_path / "scripts" / "requirements.txt").write_text("# nothing\n", encoding="utf-8")
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "__main__.py").write_text(COMMAND, encoding="utf-8")
    return tmp_path


def start(checkout: Path, *arguments: str, interpreter: str = sys.executable) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [interpreter, str(checkout / "scripts" / "lab"), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_makes_the_environment_once_and_says_so(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH")
    first = start(checkout, "run", "--users", "two words")
    assert first.returncode == 0
    assert "Creating the Python environment in .venv (first start only)" in first.stderr
    assert first.stdout.splitlines() == ["arguments ['run', '--users', 'two words']", f"prefix {checkout / '.venv'}"]
    second = start(checkout)
    assert second.stderr == ""
    assert second.stdout.startswith("arguments []")


@pytest.mark.parametrize("change", ["torn", "new requirements"])
def test_an_environment_that_is_torn_or_of_other_requirements_is_made_anew(checkout: Path, change: str) -> None:
    start(checkout)
    if change == "torn":
        # As an interrupted installation leaves it: the interpreter is there, the last thing to be written is not.
        (checkout / ".venv" / "complete").unlink()
        shutil.rmtree(checkout / ".venv" / "lib")
    else:
        (checkout / "scripts" / "requirements.txt").write_text("# still nothing\n", encoding="utf-8")
    again = start(checkout)
    assert "Creating the Python environment" in again.stderr
    assert again.returncode == 0


def test_a_failed_installation_says_what_to_do_and_is_not_taken_for_complete(checkout: Path) -> None:
    (checkout / "scripts" / "requirements.txt").write_text("./no-such-package\n", encoding="utf-8")
    done = start(checkout)
    assert done.returncode == 2
    assert "error: installing scripts/requirements.txt failed." in done.stderr
    assert "Traceback" not in done.stderr
    assert not (checkout / ".venv" / "complete").exists()


def test_the_status_of_the_command_is_passed_on(checkout: Path) -> None:
    (checkout / "scripts" / "corda_lab" / "__main__.py").write_text("raise SystemExit(7)", encoding="utf-8")
    assert start(checkout).returncode == 7


def test_the_version_is_printed_before_anything_is_installed_or_read(checkout: Path) -> None:
    package = checkout / "scripts" / "corda_lab"
    (package / "__init__.py").write_text('__version__ = "1.2.3"\n', encoding="utf-8")
    (package / "__main__.py").write_text("raise SystemExit('the command line was started')", encoding="utf-8")
    done = start(checkout, "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, "corda-lab 1.2.3\n", "")
    assert sorted(path.name for path in checkout.iterdir()) == ["scripts"]


def test_an_old_python_can_read_the_launcher() -> None:
    # What the running interpreter is asked to accept is only what Python 3.6 had.
    for path in (LAUNCHER, ROOT / "scripts" / "corda_lab" / "__init__.py"):
        ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 6))


def test_an_old_python_gets_a_sentence(checkout: Path) -> None:
    # The check itself, run by this interpreter under the version of an old one.
    code = (
        "import runpy, sys\n"
        "sys.version_info = (3, 6, 15, 'final', 0)\n"
        f"runpy.run_path({str(checkout / 'scripts' / 'lab')!r}, run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: scripts/lab needs Python 3.11 or newer; this is Python 3.6")
    assert not (checkout / ".venv").exists()


def test_a_python_without_venv_names_the_package(checkout: Path) -> None:
    """Debian's Python without its venv package, not as root: imitated by hiding the two modules and the user's id."""
    code = (
        "import os, runpy, sys\n"
        "sys.modules['ensurepip'] = None\n"
        "os.geteuid = lambda: 1000\n"
        "import shutil; shutil.which = lambda name: '/usr/bin/' + name\n"
        f"runpy.run_path({str(checkout / 'scripts' / 'lab')!r}, run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
    assert f"sudo apt-get install {package}" in done.stderr


@pytest.fixture
def bare_python(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Debian's Python without its venv package, as root: the file into which a scripted apt-get writes its calls."""
    calls = checkout / "apt-get.calls"
    folder = checkout / "programs"
    folder.mkdir()
    script = folder / "apt-get"
    script.write_text(f'#!/bin/sh\necho "$@" >> {calls}\n', encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("LAB_INSTALL", raising=False)
    return calls


def start_bare(checkout: Path, *arguments: str, answer: str | None = None) -> "subprocess.CompletedProcess[str]":
    """Start the launcher as root and without a venv module. With ``answer``, standard input is a terminal."""
    code = (
        "import os, runpy, sys\n"
        "sys.modules['ensurepip'] = None\n"
        "os.geteuid = lambda: 0\n"
        f"sys.argv[1:] = {list(arguments)!r}\n"
        f"runpy.run_path({str(checkout / 'scripts' / 'lab')!r}, run_name='__main__')\n"
    )
    main = checkout / "scripts" / "corda_lab" / "__main__.py"
    main.write_text("import os, sys\nprint(sys.argv[1:], os.environ['LAB_INSTALL'])\n", encoding="utf-8")
    ours, theirs = pty.openpty()
    try:
        os.write(ours, (answer or "").encode())
        stdin = subprocess.DEVNULL if answer is None else theirs
        command = [sys.executable, "-c", code]
        return subprocess.run(command, stdin=stdin, capture_output=True, text=True, timeout=120, check=False)
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.mark.parametrize(
    ("variable", "answer", "reason"),
    [
        ("", None, "nobody has agreed to it, and there is no terminal to ask at. Nothing was changed."),
        ("", "n\n", "but the answer was no. Nothing was changed."),
        ("no", "y\n", "LAB_INSTALL says no"),
        ("maybe", None, "LAB_INSTALL: 'maybe' is neither yes nor no"),
    ],
)
def test_without_consent_nothing_is_installed(
    checkout: Path, bare_python: Path, monkeypatch: pytest.MonkeyPatch, variable: str, answer: str | None, reason: str
) -> None:
    monkeypatch.setenv("LAB_INSTALL", variable)
    done = start_bare(checkout, "list", answer=answer)
    assert done.returncode == 2
    assert reason in done.stderr
    assert not bare_python.exists()
    assert not (checkout / ".venv").exists()


def test_a_person_who_agrees_is_not_asked_again(checkout: Path, bare_python: Path) -> None:
    done = start_bare(checkout, "list", answer="y\n")
    assert done.stdout == "['list'] yes\n"
    assert done.stderr.count("Agree?") == 1
    package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
    update, install = bare_python.read_text(encoding="utf-8").splitlines()
    signed = " ".join(f"-o {name}=false" for name in debian.UNSIGNED)
    assert update.endswith(f"{signed} update")
    assert install.endswith(f"{signed} install --yes --no-install-recommends {package}")


@pytest.mark.parametrize("arguments", [("list", "--install"), ("--install", "list")])
def test_the_option_agrees_wherever_it_stands(checkout: Path, bare_python: Path, arguments: tuple[str, ...]) -> None:
    assert start_bare(checkout, *arguments).stdout == "['list'] yes\n"
    assert "install" in bare_python.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("verb", "answer", "starts"),
    [
        ("quickstart", "yes", True),
        ("up", "yes", True),
        ("list", "yes", False),
        ("up", "no", False),
        ("up", "", False),
        ("up --images=local", "yes", False),
        ("up --on=two", "yes", False),
        ("test --part lint", "yes", False),
    ],
)
def test_the_machine_is_prepared_beside_the_environment_if_the_user_has_agreed(
    monkeypatch: pytest.MonkeyPatch, verb: str, answer: str, *, starts: bool
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", sys.dont_write_bytecode)
    launcher = runpy.run_path(str(LAUNCHER), run_name="launcher")
    monkeypatch.setattr(sys, "argv", ["lab", *verb.split()])
    monkeypatch.setenv("LAB_INSTALL", answer)
    monkeypatch.setattr(subprocess, "Popen", lambda command, **_: started.append(command))
    launcher["prepare_beside"]()
    assert [command[1:] for command in started] == [[str(ROOT / "scripts/bare/prepare.py")]] * starts


@pytest.fixture
def wheel(checkout: Path) -> Path:
    """A wheel of one module, ``tiny``."""
    path = checkout / "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tiny.py", "")
        archive.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        tags = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr("tiny-1.0.dist-info/WHEEL", tags)
        archive.writestr("tiny-1.0.dist-info/RECORD", "")
    return path


@pytest.mark.parametrize(
    ("digest", "problem"), [("", "Hashes are required"), ("0" * 64, "DO NOT MATCH THE HASHES"), ("its own", None)]
)
def test_a_package_is_installed_only_with_its_hash(
    checkout: Path, wheel: Path, digest: str, problem: str | None
) -> None:
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest() if digest == "its own" else digest
    line = f"{wheel} --hash=sha256:{digest}\n" if digest else f"{wheel}\n"
    (checkout / "scripts" / "requirements.txt").write_text(line, encoding="utf-8")
    done = start(checkout)
    assert (done.returncode == 0) == (problem is None)
    assert (problem or "") in done.stderr
    assert bool(list((checkout / ".venv").rglob("tiny.py"))) == (problem is None)
    assert (checkout / ".venv" / "complete").exists() == (problem is None)
