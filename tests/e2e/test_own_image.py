"""Nodes on an image that the lab has not built. It is made here in the layout of R3's own, from the jar that R3 ships.

Such a node unpacks itself and makes its tables anew, so the test takes four to eight minutes and is run with LAB_SLOW=1 only.
"""

import json
import subprocess
from pathlib import Path

from labkit import Lab
from test_workloads import measured

FOLDER = Path(__file__).with_name("own-image")
BUILD_SECONDS_MAX = 900


def test_nodes_run_on_an_image_of_ones_own(lab: Lab) -> None:
    version = lab.settings["CORDA_VERSION"]
    image = f"corda-lab-test/own-corda:{version}"
    arguments = {
        "CORDA_VERSION": version,
        "JAVA8_IMAGE": lab.settings["JAVA8_IMAGE"],
        "MAVEN_IMAGE": lab.settings["MAVEN_IMAGE"],
    }
    options = [f"--build-arg={name}={value}" for name, value in arguments.items()]
    command = ["docker", "build", "--quiet", f"--tag={image}", *options, str(FOLDER)]
    subprocess.run(command, stdin=subprocess.DEVNULL, check=True, timeout=BUILD_SECONDS_MAX)

    assert lab.run("down", "--volumes").returncode == 0
    done = lab.run("up", "--parties", "2", CORDA_IMAGE=image)
    assert done.returncode == 0, done.stdout + done.stderr
    step = measured(lab, "iou", "--users", "2", "--duration", "10s", "--warm-up", "5s", "--name", "e2e-own-image")
    assert step["requests"]["errors"] == 0
    assert step["counts"]["agree"], step["counts"]["disagreements"]
    (environment,) = json.loads((lab.results()[-1] / "run.json").read_text())["environments"]
    assert environment["shape"]["CORDA_IMAGE"] == image
