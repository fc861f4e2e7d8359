"""Nodes on an image that the lab has not built. The test builds one with the layout of R3's images, from R3's jar.

Such a node unpacks itself and creates all its tables, so the test takes four to eight minutes.
"""

import json
import subprocess
from pathlib import Path

import pytest

from corda_lab.lab.images import image_name
from corda_lab.results import audits
from e2e.labkit import Lab, step_folder

pytestmark = [pytest.mark.lab("own-image"), pytest.mark.nightly]

FOLDER = Path(__file__).with_name("own-image")
BUILD_SECONDS_MAX = 900


@pytest.fixture(scope="module")
def image(lab: Lab) -> str:
    """Build the image, and return its name."""
    version = lab.settings["CORDA_VERSION"]
    image = f"corda-lab-test/own-corda:{version}"
    arguments = {
        "CORDA_VERSION": version,
        "JAVA8_IMAGE": image_name(lab.settings, "JAVA8_IMAGE"),
        "MAVEN_IMAGE": image_name(lab.settings, "MAVEN_IMAGE"),
    }
    options = [f"--build-arg={name}={value}" for name, value in arguments.items()]
    command = ["docker", "buildx", "build", "--load", "--quiet", f"--tag={image}", *options, str(FOLDER)]
    subprocess.run(command, stdin=subprocess.DEVNULL, check=True, timeout=BUILD_SECONDS_MAX)
    return image


@pytest.fixture(scope="module")
def own(lab: Lab, image: str) -> Lab:
    """A lab with that image and the preset ``stock``."""
    lab.succeed("down", "--volumes")
    lab.succeed("up", "--parties", "2", "--preset", "stock", CORDA_IMAGE=image)
    return lab


def test_nodes_run_on_an_image_of_ones_own(own: Lab, image: str) -> None:
    step = own.measure("iou", "--users", "2", "--duration", "10s", "--warm-up", "5s", "--name", "e2e-own-image")
    assert (step["requests"]["failed"], step["requests"]["unknown"]) == (0, 0)
    assert step["counts"]["agree"], step["counts"]["disagreements"]
    environment = json.loads((step_folder(own.results()[-1]) / "environment.json").read_text())
    assert environment["shape"]["CORDA_IMAGE"] == image
    audited = audits.read(own.results()[-1])[1]
    assert audited.verdict == "passed", audited.summary
