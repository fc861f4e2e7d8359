"""What survives: a lab that was taken down and brought up again, and one whose node was killed."""

import httpx

from labkit import Lab


def ledger(lab: Lab) -> dict[str, tuple[str, int]]:
    """Public identity and number of IOUs of each party."""
    with httpx.Client(base_url=lab.bridge_url, timeout=60, trust_env=False) as bridge:
        nodes = {node["name"]: node["x500Name"] for node in bridge.get("/v1/nodes").json()["nodes"]}
        found = {}
        for name, x500_name in nodes.items():
            path = f"/v1/nodes/{name}/vault/count?stateType=org.cordalab.states.IouState"
            found[name] = (x500_name, int(bridge.get(path).json()["total"]))
        return found


def test_a_second_up_keeps_identities_and_ledgers(lab: Lab) -> None:
    issued = httpx.post(
        f"{lab.bridge_url}/v1/nodes/PartyC/flows",
        json={"flow": "org.cordalab.flows.Iou", "args": {"iouValue": 3, "otherParty": "PartyA"}},
        timeout=120,
        trust_env=False,
    )
    assert issued.status_code == 200, issued.text
    before = ledger(lab)
    down = lab.run("down")
    assert down.returncode == 0, down.stdout + down.stderr
    assert lab.compose.services() == []
    up = lab.run("up")
    assert up.returncode == 0, up.stdout + up.stderr
    assert ledger(lab) == before
    assert "the network is there already" in "\n".join(lab.compose.log_tail("bootstrap"))
    # The restarted nodes have to trust each other's old identities.
    again = httpx.post(
        f"{lab.bridge_url}/v1/nodes/PartyC/flows",
        json={"flow": "org.cordalab.flows.Iou", "args": {"iouValue": 4, "otherParty": "PartyA"}},
        timeout=120,
        trust_env=False,
    )
    assert again.status_code == 200, again.text


def test_up_refuses_volumes_of_another_corda_version(lab: Lab) -> None:
    up = lab.run("up", CORDA_VERSION="4.9")
    assert up.returncode == 2, up.stdout + up.stderr
    assert "down --volumes" in up.stderr
    assert set(lab.conditions().values()) <= {"healthy", "done"}
