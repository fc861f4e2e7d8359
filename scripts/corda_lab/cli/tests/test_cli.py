"""The command line as a person meets it: one clear line, the right status, never a stack trace."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from corda_lab import __main__ as main
from corda_lab import __version__
from corda_lab.cli import verbs
from corda_lab.lab import lock
from corda_lab.lab.doctor import free_ports
from corda_lab.paths import ROOT
from corda_lab.results import folders
from support.commands import PYTHONPATH
from support.runs import step_file

VERBS_MAX, OPTIONS_MAX = 18, 88
COMMANDS = verbs.Commands()
LARGE = {"httpx", "jinja2", "numpy", "polars", "scipy", "vl_convert"}
"""Libraries that ``lab --help`` does not wait for."""


@dataclass(frozen=True)
class Done:
    """What a command ended with, and printed."""

    returncode: int
    stdout: str
    stderr: str


Lab = Callable[..., Done]


@pytest.fixture
def lab(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Lab:
    """Run the command line with no engine within reach, so that nothing on this machine is touched, nor locked."""
    locks = tmp_path_factory.mktemp("locks")
    monkeypatch.setattr(lock, "lock_file", lambda project: locks / project)
    monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{free_ports(1)[0]}")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(folders, "RESULTS", tmp_path)

    def run(*arguments: str, **environment: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["lab", *arguments])
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        capsys.readouterr()
        code = main.run_command()
        printed = capsys.readouterr()
        return Done(code, printed.out, printed.err)

    return run


def test_the_version_is_that_of_the_launcher(lab: Lab) -> None:
    launcher = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "lab"), "--version"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    done = lab("--version")
    assert done.returncode == 0
    assert done.stdout == launcher.stdout == f"corda-lab {__version__}\n"


def test_the_overview_fits_on_one_screen_and_names_each_verb_once(lab: Lab) -> None:
    done = lab("--help")
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert len(lines) <= 40
    assert all(len(line) <= 80 for line in lines)
    assert [line.split()[0] for line in lines if line.startswith("  ") and line[2].isalpha()] == list(verbs.VERBS)


def test_the_overview_imports_no_large_library() -> None:
    code = (
        "import sys\n"
        "from corda_lab import __main__ as main\n"
        "sys.argv = ['lab', '--help']\n"
        "main.run_command()\n"
        f"print(*sorted({LARGE} & sys.modules.keys()), file=sys.stderr)\n"
    )
    done = python(code)
    assert (done.returncode, done.stderr) == (0, "\n")
    assert "Usage: scripts/lab" in done.stdout


def test_verbs_and_options_stay_few_enough_to_be_known() -> None:
    options = [option for command in COMMANDS.values() for option in command.params if option.opts[0].startswith("-")]
    assert len(verbs.VERBS) <= VERBS_MAX
    assert len(options) <= OPTIONS_MAX


@pytest.mark.parametrize("verb", COMMANDS)
def test_every_verb_explains_itself_with_an_example(verb: str, lab: Lab) -> None:
    done = lab(*verb.split(), "--help")
    assert done.returncode == 0
    assert f"scripts/lab {verb}" in done.stdout.partition("Example")[2]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rnu"], "Did you mean 'run'?"),
        (["run", "iou", "--user", "3"], "No such option: --user, did you mean '--users'?"),
        (["run"], "WORKLOAD: is missing"),
        (["run", "iou", "--users", "0"], "--users"),
        (["run", "iou", "--duration", "soon"], "--duration: must be a duration such as 30s or 2m, but is 'soon'"),
        (["run", "iou", "--set", "pacing=-1"], "--set pacing"),
        (["run", "iou", "--name", "a/b"], "--name: 'a/b' cannot be the name of a run"),
        (["run", "iuo"], "unknown workload 'iuo', did you mean 'iou'?"),
        (["run", "../../etc/passwd"], "unknown workload"),
        (["up", "--images", "cloud"], "--images"),
        (["sweep"], "FILE: is missing"),
        (["sweep", "smok"], "FILE: there is no sweep 'smok', did you mean 'smoke'?"),
        (["sweep", "smoke", "--like", "latest"], "FILE: is not for --like"),
        (["sweep", "--like", "never"], "There is no run 'never'"),
        (["sweep", "smoke", "--anyway"], "--anyway: is only for --like"),
        (["sweep", "resume"], "There is no unfinished sweep"),
        (["up", "--parties", "1"], "PARTIES: '1' is not a valid number of parties; use 2 to 11"),
        (["up", "--corda", "4.2"], "CORDA_VERSION: unknown version '4.2'; choose from 3.3, 4.0, 4.1, 4.3"),
        (["up", "--notary", "jpa"], "NOTARY: jpa needs PostgreSQL"),
        (["up", "--set", "NODE_CORES=999"], "NODE_CORES: 999 cores are too many; this machine has "),
        (["up", "--link", "partya-partyb=40"], "LINKS: 'partya-partyb=40' is not a link"),
        (["up", "--size", "huge"], "--size: unknown size 'huge'"),
        (["up", "--set", "heap=2g"], "--set: unknown setting 'heap', did you mean 'NODE_HEAP'?"),
        (["up", "--set", "RPC_PASSWORD=x"], "--set RPC_PASSWORD: is read by every command"),
        (["up", "--set", "BRIDGE_PORT=1"], "--set BRIDGE_PORT: is read by every command"),
        (["up", "--parties", "3", "--set", "PARTIES=4"], "--set PARTIES: is given twice"),
        (["run", "iou", "--rate", "5"], "--rate: is only for open load"),
        (["run", "iou", "--arrivals", "poisson"], "--rate: is missing"),
        (["run", "iou", "--set", "bursts=5"], "--set bursts: is only for burst load"),
        (["run", "iou", "--arrivals", "burst", "--warm-up", "5s"], "--warm-up: is not for bursts"),
        (
            ["run", "iou", "--flows", "9", "--set", "warm_up_max=5m"],
            "--set warm_up_max: is not for a load that ends after",
        ),
        (["run", "iou", "--flows", "9", "--arrivals", "poisson", "--rate", "5"], "--flows: is only for closed load"),
        (["run", "iou", "--set", "flows_after=9"], "--set flows_after: needs flows"),
        (["run", "iou", "--set", "workers=99"], "--set workers: must be less than or equal to 16, but is"),
        (["run", "iou", "--set", "iouValue"], "--set: 'iouValue' is not key=value"),
        (["run", "iou", "--set", "iouVlaue=3"], "--set: unknown key 'iouVlaue', did you mean 'iouValue'?"),
        (["run", "iou", "--set", "pasing=3"], "--set: unknown key 'pasing', did you mean 'pacing'?"),
        (["run", "iou", "--set", "workers=two"], "--set workers: 'two' is not a whole number"),
        (
            ["run", "iou", "--set", "database_size=small"],
            "--set database_size: must be 'file' or 'compacted'",
        ),
        (["run", "iou", "--users", "3", "--set", "users=4"], "--set users: is given twice"),
        (["run", "iou", "--like", "latest"], "WORKLOAD: is not for --like"),
        (["run", "--like", "never"], "There is no run 'never'"),
        (["run", "iou", "--anyway"], "--anyway: is only for --like"),
        (["run", "iou", "--profile-nodes", ""], "--profile-nodes: names no node"),
        (["workload", "chekc"], "did you mean 'check'?"),
        (["profile"], "Missing argument 'NODE'"),
        (["profile", "PartyA", "--seconds", "601"], "'--seconds': Input should be less than or equal to 600"),
        (["profile", "PartyA", "--event", "cpus"], "Invalid value for '--event'"),
        (["profile", "heap", "PartyA", "--top", "0"], "'--top': Input should be greater than or equal to 1"),
        (["audit", "--deadline", "0"], "--deadline"),
        (["report", "never"], "There is no run 'never'"),
        (["report", "web-ui", "--duration", "0s"], "--duration: '0s' is too short"),
        (["compare", "latest"], "CONTENDER: is missing; two runs are needed"),
        (["compare", "a", "b", "--metric", "p59"], "--metric: unknown metric 'p59', did you mean"),
        (["compare", "a", "b", "--threshold", "much"], "--threshold: 'much' is not a percentage"),
        (["reproduce"], "FIGURE: is missing"),
        (["reproduce", "all", "--add", "2"], "--add: does not apply to all"),
        (["down", "everything"], "unexpected extra argument"),
    ],
)
def test_bad_input_is_one_clear_line(arguments: list[str], words: str, lab: Lab) -> None:
    done = lab(*arguments)
    assert done.returncode == 2
    assert words in done.stderr.splitlines()[0]
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 2


@pytest.mark.parametrize(
    "arguments",
    [["run", "iou"], ["status"], ["down"], ["report", "web-ui"], ["profile", "PartyA"], ["profile", "heap", "PartyA"]],
)
def test_without_an_engine_there_is_one_error_with_a_remedy(arguments: list[str], lab: Lab, tmp_path: Path) -> None:
    done = lab(*arguments)
    assert done.returncode == 2
    assert "engine" in done.stderr
    assert "Traceback" not in done.stderr
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_doctor_names_what_is_missing_and_fails(lab: Lab) -> None:
    done = lab("doctor")
    assert done.returncode == 2
    assert "failure" in done.stdout


def test_a_broken_env_variable_is_named(lab: Lab) -> None:
    done = lab("status", COMPOSE_PROJECT_NAME="Not A Name")
    assert done.returncode == 2
    assert "COMPOSE_PROJECT_NAME" in done.stderr


def test_without_a_bridge_there_is_one_error_with_a_remedy(lab: Lab) -> None:
    done = lab("workload", "flows", "PartyA", BRIDGE_PORT=str(free_ports(1)[0]))
    assert done.returncode == 2
    assert "does not answer" in done.stderr
    assert "scripts/lab up" in done.stderr


def test_checks_every_workload_without_a_lab_too(lab: Lab) -> None:
    done = lab("workload", "check", BRIDGE_PORT=str(free_ports(1)[0]))
    assert done.returncode == 0, done.stdout
    assert "iou: ok" in done.stdout
    assert "The lab is not up" in done.stdout


def test_all_problems_of_workloads_are_told_at_once(lab: Lab) -> None:
    done = lab("workload", "check", "iuo", "emtpy", "iou", BRIDGE_PORT=str(free_ports(1)[0]))
    assert done.returncode == 2
    for words in ("did you mean 'iou'", "did you mean 'empty'", "iou: ok"):
        assert words in done.stdout


def test_lists_and_renders_stored_runs(
    stored_run: Callable[..., Path], lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = stored_run()
    monkeypatch.setattr(folders, "RESULTS", run.parent)
    listed = lab("list")
    assert listed.returncode == 0
    assert run.name in listed.stdout
    assert "agree" in listed.stdout
    rendered = lab("report")
    assert rendered.returncode == 0
    assert str(run / "report.html") in rendered.stdout
    assert (run / "report.html").is_file()


def test_charts_are_drawn_into_a_folder(stored_run: Callable[..., Path], lab: Lab, tmp_path: Path) -> None:
    done = lab("report", str(stored_run()), "--charts", str(tmp_path / "charts"), "--json")
    drawn = [Path(path) for path in json.loads(done.stdout)["charts"]]
    assert {path.suffix for path in drawn} == {".png", ".svg"}
    assert all(path.parent == tmp_path / "charts" and path.is_file() for path in drawn)


def python(code: str) -> "subprocess.CompletedProcess[str]":
    """Run Python code as the command line would run."""
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_damaged_run_is_one_error_that_names_the_field(
    stored_run: Callable[..., Path], lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = stored_run()
    content = folders.read_object(step_file(run))
    del content["throughput_per_second"]
    folders.write_json(step_file(run), content)
    monkeypatch.setattr(folders, "RESULTS", run.parent)
    done = lab("report")
    assert done.returncode == 2
    assert "step.json: throughput_per_second: " in done.stderr.splitlines()[0]


def test_a_defect_is_said_to_be_one_and_leaves_its_trace_in_a_file() -> None:
    code = (
        "import sys\n"
        "from corda_lab import __main__ as main\n"
        "from corda_lab.cli import measure\n"
        "measure.figures.write_book = lambda: {}['lost']\n"
        "sys.argv = ['lab', 'reproduce', 'book']\n"
        "main.main()\n"
    )
    done = python(code)
    assert done.returncode == 70
    first, second = done.stderr.splitlines()
    assert first.startswith("error: This is a defect of the lab: KeyError: ")
    log = Path(second.rpartition("attach ")[2].rstrip("."))
    assert "Traceback" in log.read_text(encoding="utf-8")
    log.unlink()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_ends_cleanly(number: signal.Signals) -> None:
    code = (
        "import os, signal, sys\n"
        # These tests may run under nohup, which is inherited.
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
        "from corda_lab import __main__ as main\n"
        "from corda_lab.cli import measure\n"
        "def wait() -> None:\n"
        f"    os.kill(os.getpid(), {int(number)})\n"
        "    signal.pause()\n"
        "measure.figures.write_book = wait\n"
        "sys.argv = ['lab', 'reproduce', 'book']\n"
        "main.main()\n"
    )
    done = python(code)
    assert done.returncode == 130
    # After a hang-up there is nobody to read it.
    words = (
        ""
        if number is signal.SIGHUP
        else "Interrupted. Every stored file is complete, and a lab that was up is still up.\n"
    )
    assert done.stderr == words
