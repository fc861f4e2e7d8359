"""The engine starts a bridge that has failed, and the bridge is what it was before."""

import uuid
from typing import Any

import httpx
import pytest

from corda_lab.lab.docker import docker
from e2e.hostile import FLOWS, is_ready_for_others, seconds_until, started
from e2e.labkit import Lab

# A new start of the bridge takes half a minute. In every run of the tests it is killed too, but started again by the
# lab (test_chaos.py).
pytestmark = [pytest.mark.lab("standard"), pytest.mark.nightly]

RESTART_SECONDS_MAX = 90.0
"""A start of the JVM, and the logins to all nodes."""
KILL = "import os, signal, sys; os.kill(int(sys.argv[1]), signal.SIGKILL)"


def inspected(lab: Lab, form: str) -> str:
    (bridge,) = [service.container.name for service in lab.compose.services() if service.name == "bridge"]
    done = docker("container", "inspect", "--format", form, bridge)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def kill_from_outside(lab: Lab) -> None:
    """Kill the first process of the bridge, as the kernel does.

    The engine takes ``docker kill`` for the wish of an operator, and starts nothing. From inside a container, nobody
    can kill its first process. So its own user does, in a container that sees the processes of the engine's host.
    """
    user, process = inspected(lab, "{{.Config.User}} {{.State.Pid}}").split()
    options = [
        "--rm",
        "--pid=host",
        "--network=none",
        f"--user={user}",
        "--cap-drop=ALL",
        "--read-only",
        "--memory=64m",
    ]
    image = lab.settings.own_image("locust")
    done = docker("run", *options, "--entrypoint=python3", image, "-c", KILL, process)
    assert done.returncode == 0, done.stderr


def test_a_killed_bridge_starts_again_and_still_knows_its_flows(lab: Lab) -> None:
    client_id = f"restart-{uuid.uuid4()}"
    with httpx.Client(base_url=lab.bridge_url, timeout=120, trust_env=False) as bridge:
        start: dict[str, Any] = {"flow": "Empty", "args": {}, "clientId": client_id}
        flow_id = bridge.post(FLOWS, json=start).json()["flowId"]
        began, _ = started(bridge)
    restarts = int(inspected(lab, "{{.RestartCount}}"))

    kill_from_outside(lab)
    seconds_until(lambda: int(inspected(lab, "{{.RestartCount}}")) == restarts + 1, RESTART_SECONDS_MAX)
    seconds_until(lambda: is_ready_for_others(lab.bridge_url), RESTART_SECONDS_MAX)
    seconds_until(lambda: lab.conditions()["bridge"] == "healthy", RESTART_SECONDS_MAX)

    with httpx.Client(base_url=lab.bridge_url, timeout=120, trust_env=False) as bridge:
        again, _ = started(bridge)
        assert again > began
        answer = bridge.get(f"{FLOWS}/{client_id}")
        assert (answer.status_code, answer.json()["flowId"]) == (200, flow_id)
        bridge.delete(FLOWS, params={"clientIdPrefix": client_id})
