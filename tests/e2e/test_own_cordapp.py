"""A lab that was stopped and starts again with another CorDapp, as described in docs/your-cordapp.md.

It starts with one party less, because every node first creates the CorDapp's tables.
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import yaml

from corda_lab.lab.images import image_name
from corda_lab.paths import ROOT
from e2e.labkit import Lab

pytestmark = [pytest.mark.lab("own-cordapp"), pytest.mark.nightly]

EXTRA = ROOT / "cordapps" / "extra"
WORKLOAD = ROOT / "configs" / "workloads" / "e2e-finance.yaml"
CASH = "net.corda.finance.contracts.asset.Cash$State"
NOTARY = "O=Notary,L=London,C=GB"
FETCH_SECONDS_MAX = 600

Ledger = dict[str, tuple[str, int]]
"""Party → public identity and number of IOUs."""


def ledger(lab: Lab) -> Ledger:
    with httpx.Client(base_url=lab.bridge_url, timeout=60, trust_env=False) as bridge:
        nodes = {node["name"]: node["x500Name"] for node in bridge.get("/v1/nodes").json()["nodes"]}
        found = {}
        for name, x500_name in nodes.items():
            path = f"/v1/nodes/{name}/vault/count?stateType=org.cordalab.states.IouState"
            found[name] = (x500_name, int(bridge.get(path).json()["total"]))
        return found


def issue(lab: Lab) -> None:
    """Let PartyB issue an IOU to PartyA. For this, each must trust the other's identity."""
    done = httpx.post(
        f"{lab.bridge_url}/v1/nodes/PartyB/flows",
        json={"flow": "org.cordalab.flows.Iou", "args": {"iouValue": 3, "otherParty": "PartyA"}},
        timeout=120,
        trust_env=False,
    )
    assert done.status_code == 200, done.text


@pytest.fixture(scope="module")
def before(lab: Lab) -> Ledger:
    """The ledger of the lab with three parties, with at least one IOU."""
    issue(lab)
    return ledger(lab)


@pytest.fixture(scope="module")
def finance(lab: Lab, before: Ledger, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """The lab with R3's finance CorDapp in the version of the nodes."""
    version = lab.settings["CORDA_VERSION"]
    folder = tmp_path_factory.mktemp("cordapps")
    jars = [fetch(lab, folder, f"corda-finance-{part}", version) for part in ("contracts", "workflows")]
    placed = [EXTRA / jar.name for jar in jars]
    try:
        for jar, place in zip(jars, placed, strict=True):
            place.write_bytes(jar.read_bytes())
        lab.succeed("down")
        assert lab.compose.services() == []
        lab.succeed("up", "--parties", "2")
        yield lab
    finally:
        for place in placed:
            place.unlink(missing_ok=True)
        WORKLOAD.unlink(missing_ok=True)


def fetch(lab: Lab, folder: Path, artifact: str, version: str) -> Path:
    """Download a jar from Maven Central, with the Maven image that builds the node image."""
    folder.chmod(0o777)
    subprocess.run(
        [
            *("docker", "run", "--rm", f"--volume={folder}:/jars", image_name(lab.settings, "MAVEN_IMAGE")),
            *("mvn", "--batch-mode", "--strict-checksums", "--quiet"),
            "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy",
            *(f"-Dartifact=net.corda:{artifact}:{version}", "-DoutputDirectory=/jars"),
        ],
        stdin=subprocess.DEVNULL,
        check=True,
        timeout=FETCH_SECONDS_MAX,
    )
    return folder / f"{artifact}-{version}.jar"


def test_identities_and_ledgers_are_kept(finance: Lab, before: Ledger) -> None:
    now = ledger(finance)
    assert now.items() < before.items()
    assert before.keys() - now.keys() == {"PartyC"}
    issue(finance)


def test_its_flows_are_listed_with_their_parameters_and_their_fields(finance: Lab) -> None:
    listed = json.loads(finance.succeed("workload", "flows", "PartyA", "--json").stdout)
    flows = {flow["shortName"]: flow["constructors"] for flow in listed}
    assert "CashIssueAndPaymentFlow" in flows
    (request,) = next(way for way in flows["CashIssueFlow"] if len(way) == 1)
    assert {field["name"]: field["type"] for field in request["fields"]} == {
        "amount": "Amount<Currency>",
        "issueRef": "OpaqueBytes",
        "notary": "Party",
    }


def test_an_argument_is_built_from_its_fields(finance: Lab) -> None:
    def issue_cash(**fields: str) -> httpx.Response:
        request = {"amount": "5 GBP", "issueRef": "01", "notary": NOTARY, **fields}
        start = {"flow": "CashIssueFlow", "args": {"request": request}}
        return httpx.post(f"{finance.bridge_url}/v1/nodes/PartyB/flows", json=start, timeout=120, trust_env=False)

    done = issue_cash()
    assert done.status_code == 200, done.text
    refused = issue_cash(notary="O=Nobody,L=London,C=GB")
    assert (refused.status_code, refused.json()["field"]) == (400, "args.request.notary")


def test_a_workload_is_written_tried_and_measured(finance: Lab) -> None:
    """One user pays what it has issued, so that the states of every flow are those of the first."""
    flow = "net.corda.finance.flows.CashIssueAndPaymentFlow"
    done = finance.succeed("workload", "new", "--node", "PartyA", "--flow", flow, "--name", "e2e-finance", "--try")
    assert f"{CASH}: +0 at PartyA; +1 at PartyB" in done.stdout
    assert yaml.safe_load(WORKLOAD.read_text())["states"] == {CASH: {"node": 0, "counterparty": 1}}

    step = finance.measure("e2e-finance", "--users", "1", "--duration", "8s", "--warm-up", "2s")
    assert (step["requests"]["failed"], step["requests"]["unknown"]) == (0, 0)
    assert step["requests"]["ok"] > 0
    assert step["counts"]["agree"], step["counts"]["disagreements"]
    assert {vault["node"] for vault in step["counts"]["vault_states"]} == {"PartyA", "PartyB"}
