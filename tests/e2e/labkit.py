"""The lab under test and a browser, for the end-to-end tests."""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx

from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import Settings
from corda_lab.paths import ROOT
from corda_lab.results.folders import all_runs
from lab_workload.web_ui import STATUS_PATH, WebUiStatus

LAB_SECONDS_MAX = 600.0
BROWSER_SECONDS_MAX = 420.0
WEB_UI_SECONDS_MAX = 120.0


def await_idle_web_ui(locust: httpx.Client) -> None:
    """Wait until the last load of the web UI has ended, because `lab run` refuses until then."""
    deadline = time.monotonic() + WEB_UI_SECONDS_MAX
    while (state := WebUiStatus.read(locust.get(STATUS_PATH).text).state) != "idle":
        assert time.monotonic() < deadline, f"the web UI is still {state}"
        time.sleep(0.2)


class Lab:
    """The lab under test, as a user sees it: a command line, and URLs on this machine."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.compose = Compose(settings)
        self.bridge_url = settings.url("BRIDGE_PORT")
        self.prometheus_url = settings.url("PROMETHEUS_PORT")
        self.network = f"{settings.project}_default"

    def command(self, *arguments: str) -> list[str]:
        return [str(ROOT / "scripts" / "lab"), *arguments]

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run `scripts/lab`, and return its status, stdout and stderr."""
        return subprocess.run(
            self.command(*arguments),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LAB_SECONDS_MAX,
            env={**os.environ, "COLUMNS": "200", **environment},
            check=False,
        )

    def succeed(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run `scripts/lab`, which must exit with status 0."""
        done = self.run(*arguments, **environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def measure(self, *arguments: str) -> dict[str, Any]:
        """Run a workload, which must succeed, and return its step."""
        self.succeed("run", *arguments)
        return step_of(self.results()[-1])

    def inside(self, service: str, script: str) -> str:
        """Run a bash script in the container of a service, and return its output."""
        return self.compose.exec(service, "bash", "-c", script).stdout

    def metrics(self, node: str) -> str:
        """Return the current metrics page of a node's JMX exporter."""
        request = "exec 3<> /dev/tcp/127.0.0.1/9404 && printf 'GET /metrics HTTP/1.0\\r\\n\\r\\n' >&3 && cat <&3"
        return self.inside(node, request)

    def results(self) -> list[Path]:
        """Return the folders of finished runs, oldest first."""
        return all_runs()

    def conditions(self) -> dict[str, str]:
        """Return the condition of every service: name → ``Service.condition``."""
        return {service.name: service.condition for service in self.compose.services()}


class Browser:
    """Headless Chromium in a container, which shares ``folder`` with the test as /shared."""

    def __init__(self, image: str, folder: Path) -> None:
        self.image = image
        self.folder = folder

    def run(self, script: str, *arguments: str, network: str) -> dict[str, Any]:
        """Run a script of tests/e2e/browser/ and return the JSON object that it prints."""
        options = ["--rm", f"--network={network}", f"--volume={self.folder}:/shared"]
        done = subprocess.run(
            ["docker", "run", *options, self.image, f"/opt/browser/{script}", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=BROWSER_SECONDS_MAX,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        seen: dict[str, Any] = json.loads(done.stdout)
        return seen


def step_folder(run: Path) -> Path:
    """The folder of the only step of a run of one load."""
    return run / "steps" / "0001-run"


def step_of(run: Path) -> dict[str, Any]:
    """The only step of a run of one load."""
    step: dict[str, Any] = json.loads((step_folder(run) / "step.json").read_text(encoding="utf-8"))
    return step
