"""Locust's web UI, driven as a user drives it, in headless Chromium."""

import json
import subprocess
from pathlib import Path

from conftest import Lab


def test_a_run_starts_and_stops_from_the_browser(lab: Lab, browser_image: str, shared_folder: Path) -> None:
    done = subprocess.run(
        ["docker", "run", "--rm", f"--network={lab.network}", f"--volume={shared_folder}:/shared", browser_image]
        + ["/opt/browser/start_run.py", "http://locust:8089", "/shared"],
        capture_output=True,
        text=True,
        timeout=420,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert {"workload", "node", "counterparty"} <= set(seen["fields"])
    assert seen["completed"] >= 5
    assert seen["console_errors"] == []
    assert (shared_folder / "running.png").stat().st_size > 10_000
