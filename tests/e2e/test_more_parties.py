"""Parties that join a network that is there, and a settlement of four of them. With LAB_SLOW=1 only: it starts ten nodes."""

from labkit import Lab
from test_workloads import measured


def test_parties_join_and_settle(lab: Lab) -> None:
    assert lab.run("down", "--volumes").returncode == 0
    for parties in ("2", "5"):
        done = lab.run("up", "--parties", parties)
        assert done.returncode == 0, done.stdout + done.stderr
    step = measured(lab, "settlement-4", "--users", "2", "--duration", "12s", "--warm-up", "4s")
    assert step["requests"]["errors"] == 0
    assert step["counts"]["agree"], step["counts"]["disagreements"]
