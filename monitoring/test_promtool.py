"""The configuration of Prometheus is valid, and its alerts fire when they should, as promtool says."""

import subprocess

import pytest

from corda_lab.lab.images import image_name
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ROOT

FOLDER = ROOT / "monitoring" / "prometheus"
WITHIN = "/etc/prometheus"
CHECKS = {
    "configuration": ("check", "config", f"{WITHIN}/prometheus.yml"),
    **{path.stem: ("test", "rules", f"{WITHIN}/tests/{path.name}") for path in sorted(FOLDER.glob("tests/*.yml"))},
}


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_promtool_finds_nothing_wrong(check: tuple[str, ...]) -> None:
    image = image_name(load_settings(), "PROMETHEUS_IMAGE")
    within = ("docker", "run", "--rm", "--network=none", f"--volume={FOLDER}:{WITHIN}:ro", "--entrypoint=promtool")
    done = subprocess.run([*within, image, *check], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
