"""The health check of the bridge: it waits for nodes that start, and not for one that has ended."""

import os
import subprocess
from pathlib import Path

import pytest

from corda_lab.paths import ROOT
from support.served import serving

SCRIPT = ROOT / "loadgen" / "bridge" / "bin" / "healthcheck"
WAITING = "still waiting"


def check(folder: Path, port: int, *there: str) -> tuple[int | str, str]:
    """The status of the check and what it prints. The names of the nodes that are ``there`` are known."""
    getent = folder / "bin" / "getent"
    getent.parent.mkdir()
    getent.write_text(f'#!/bin/sh\ncase "$2" in {"|".join(there) or "none"}) ;; *) exit 2 ;; esac\n', encoding="utf-8")
    getent.chmod(0o755)
    environment = {
        "PATH": f"{getent.parent}:{os.environ['PATH']}",
        "BRIDGE_PORT": str(port),
        "BRIDGE_NODES": "Notary=notary:10003,Soci%C3%A9t%C3%A9=partya:10003",
    }
    script = SCRIPT.read_text(encoding="utf-8").replace("/tmp/", f"{folder}/")
    try:
        done = subprocess.run(
            ["bash", "-c", script], env=environment, capture_output=True, text=True, check=False, timeout=4
        )
    except subprocess.TimeoutExpired:
        return WAITING, ""
    return done.returncode, done.stdout.strip()


@pytest.mark.parametrize(
    ("answering", "there", "status", "printed"),
    [
        ((True, True), ("notary", "partya"), 0, ""),
        ((False, False), ("notary", "partya"), WAITING, ""),
        ((True, False), ("notary", "partya"), WAITING, ""),
        # One has ended, and the other may still become ready.
        ((False, False), ("notary",), WAITING, ""),
        ((True, False), ("notary",), 1, "not there: partya"),
        ((False, False), (), 1, "not there: notary partya"),
    ],
)
def test_waits_for_nodes_that_start_and_not_for_those_that_have_ended(
    tmp_path: Path, answering: tuple[bool, bool], there: tuple[str, ...], status: int | str, printed: str
) -> None:
    nodes = dict(zip(("Notary", "Société"), answering, strict=True))
    with serving(lambda _: (200 if all(answering) else 503, {"status": "x", "nodes": nodes})) as port:
        assert check(tmp_path, port, *there) == (status, printed)


def test_a_bridge_that_does_not_answer_yet_is_awaited_as_long_as_nodes_are_there(tmp_path: Path) -> None:
    assert check(tmp_path, 1, "notary", "partya") == (WAITING, "")
