"""R3's own finance CorDapp, which the nodes get with an option of ``lab up``. It starts three nodes."""

import pytest

from e2e.labkit import Lab

pytestmark = [pytest.mark.lab("finance"), pytest.mark.nightly]

CASH = "net.corda.finance.contracts.asset.Cash$State"


@pytest.fixture(scope="module")
def finance(lab: Lab) -> Lab:
    """A lab of two parties with R3's finance CorDapp in the version of the nodes."""
    lab.succeed("down", "--volumes")
    lab.succeed("up", "--parties", "2", "--cordapp", "finance")
    return lab


@pytest.mark.parametrize("name", ["finance-issue", "finance-issue-and-pay"])
def test_its_flows_are_measured_and_every_count_agrees(finance: Lab, name: str) -> None:
    assert finance.succeed("workload", "check", name).stdout == f"{name}: ok\n"
    step = finance.measure(name, "--users", "2", "--duration", "8s", "--warm-up", "2s", "--name", f"e2e-{name}")

    assert (step["requests"]["failed"], step["requests"]["unknown"]) == (0, 0)
    assert step["requests"]["ok"] > 0
    assert step["counts"]["agree"], step["counts"]["disagreements"]
    states = [vault["state"] for vault in step["counts"]["vault_states"]]
    assert states == ([CASH] if name == "finance-issue" else [])


def test_it_is_removed_again_and_the_workloads_say_so(finance: Lab) -> None:
    finance.succeed("up", "--parties", "2", "--cordapp", "lab")
    done = finance.run("run", "finance-issue", "--users", "1", "--duration", "5s")

    assert done.returncode == 2
    assert "needs the CorDapp 'finance', which PartyA does not have" in done.stderr
    assert "scripts/lab up --cordapp finance" in done.stderr
