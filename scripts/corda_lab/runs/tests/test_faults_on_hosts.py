"""Faults on a stack: on the container of a service on its host, and on a whole host. What was made heals later."""

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from corda_lab import paths
from corda_lab.clients.bridge import Bridge
from corda_lab.clients.prometheus import Prometheus
from corda_lab.errors import LabError
from corda_lab.faults import inject, plan
from corda_lab.faults.plan import FaultPlan, heal, make
from corda_lab.lab.docker import Container
from corda_lab.lab.settings import BOOTSTRAP, GRAFANA, Settings, load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.runs import faulty
from corda_lab.swarm.deployment import DeployedStack, StackFolder
from lab_workload.faults import Fault, FaultKind
from support.docker import docker_client
from support.labs import lab_with
from support.stacks import deployment as record

SETTINGS = Settings(load_settings(ENV_FILE, {}).values, "lab")
KNOWN = record(
    "two",
    {"notary": "one", "partya": "one", "partyb": "two", "partyc": "two", "locust": "one"},
    helper_image="lab-swarm/tools:1",
    is_running=True,
)
ADDRESSES = """
case "$*" in
    "--context one ps --filter=network=lab-swarm_default"*) echo "a driver";;
    "--context two ps --filter=network=lab-swarm_default"*) echo "b c";;
    "--context one container inspect --format {{.Name}}"*) echo "/a 10.0.0.1 "; echo "/driver 10.0.0.2 ";;
    "--context two container inspect --format {{.Name}}"*) echo "/b 10.0.0.3 "; echo "/c 10.0.0.4 invalid ";;
    *"{{.State.Status}}"*) echo running;;
esac"""

Install = Callable[[str], None]


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DeployedStack:
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")
    return DeployedStack(SETTINGS, StackFolder.of("lab"), KNOWN)


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put a client on PATH that writes down its calls, and answers with a script."""

    def install(script: str) -> None:
        (tmp_path / "bin").mkdir()
        docker_client(tmp_path / "bin", monkeypatch, f'PATH=/usr/bin:/bin; echo "$@" >> {tmp_path}/calls\n{script}')

    return install


def calls(tmp_path: Path) -> list[str]:
    return (tmp_path / "calls").read_text().splitlines()


def test_a_host_is_cut_off_by_what_each_of_its_containers_loses(
    stack: DeployedStack, docker: Install, tmp_path: Path
) -> None:
    docker(ADDRESSES)
    fault = Fault(kind="partition", target="two", at_seconds=5, for_seconds=5)
    planned = plan.plan_of(fault, stack, Container("driver", "one"))
    assert [command.place for command in planned.make] == [Container(name, "two") for name in "bc"]
    make(planned)
    # It is healed by another process too, which has only what was written.
    heal(FaultPlan.model_validate_json(planned.model_dump_json()))
    said = calls(tmp_path)
    helpers = [call for call in said if " run --rm " in call]
    assert ["--context two run" in call for call in helpers] == [True] * 4
    assert ["container:b " in call for call in helpers] == [True, False, True, False]
    # The text of the script, which has many lines, stands before its arguments.
    assert [call.strip() for call in said if call.endswith(" 10.0.0.1 10.0.0.2")] == [
        *["lose 10.0.0.1 10.0.0.2"] * 2,
        *["find 10.0.0.1 10.0.0.2"] * 2,
    ]


def test_a_fault_on_a_service_is_made_on_its_host_and_healed_by_swarm(
    stack: DeployedStack, docker: Install, tmp_path: Path
) -> None:
    docker(
        """
        case "$*" in
            *" ps --all "*) printf 'lab-swarm_partya.1.x\\trunning\\tUp 2 minutes\\tlab-swarm_partya\\n';;
            *State.Status*) echo exited;;
        esac"""
    )
    fault = Fault(kind="kill", target="partya", at_seconds=5, for_seconds=0)
    planned = plan.plan_of(fault, stack, Container("driver", "three"))
    make(planned)
    assert calls(tmp_path)[-1] == "--context one kill --signal KILL lab-swarm_partya.1.x"
    heal(FaultPlan.model_validate_json(planned.model_dump_json()))
    assert calls(tmp_path)[-1] == "service update --detach --force --quiet lab-swarm_partya"


def test_a_kill_lasts_until_swarm_starts_the_service_again(
    stack: DeployedStack, docker: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    docker(
        """
        case "$*" in
            *" ps --all "*) printf 'lab-swarm_partya.1.x\trunning\tUp 2 minutes\tlab-swarm_partya\n';;
            "service inspect"*partya) echo "$POLICY";;
        esac"""
    )

    def seconds(policy: str, wanted: float) -> float:
        monkeypatch.setenv("POLICY", policy)
        fault = Fault(kind="kill", target="partya", at_seconds=5, for_seconds=wanted)
        return plan.plan_of(fault, stack, Container("driver", "three")).seconds

    assert [seconds(*given) for given in (("none", 30), ("on-failure", 30), ("on-failure", 2))] == [30, 5, 2]


def test_a_stack_is_not_back_while_a_service_has_no_container(stack: DeployedStack, docker: Install) -> None:
    needed = {*SETTINGS.services} - {BOOTSTRAP, GRAFANA}
    known = KNOWN.model_copy(update={"services": dict.fromkeys(sorted(needed), "one")})

    def back(names: set[str]) -> bool:
        rows = "".join(f"lab-swarm_{name}.1.x;running;Up (healthy);lab-swarm_{name}\n" for name in names)
        listed.write_text(rows.replace(";", "\t"))
        whole = DeployedStack(SETTINGS, stack.folder, known)
        return faulty.revive(lab_with(whole, cast(Bridge, None), cast(Prometheus, None)))

    listed = paths.CACHE.parent / "listed"
    docker(f'case "$*" in *" ps --all "*) cat {listed};; esac')
    assert back(needed)
    assert not back(needed - {"partya"})


TWO = r"""
case "$*" in
    "--context two ps --all "*) for name in b c; do
        printf 'lab-swarm_party%s.1.x\trunning\tUp 2 minutes\tlab-swarm_party%s\n' $name $name
    done;;
    *"State.Status"*b.1.x) echo exited;;
    *"State.Status"*) echo 'Error: No such container' >&2; exit 1;;
    *NodeID*) echo n2;;
esac"""


@pytest.mark.parametrize(
    ("kind", "made", "healed"),
    [
        ("kill", ["--context two kill --signal KILL lab-swarm_partyb.1.x lab-swarm_partyc.1.x"], []),
        ("restart", ["node update --availability drain n2"], ["node update --availability active n2"]),
    ],
)
def test_all_services_of_a_host_end_and_start_again(
    stack: DeployedStack, docker: Install, tmp_path: Path, kind: FaultKind, made: list[str], healed: list[str]
) -> None:
    docker(TWO)
    fault = Fault(kind=kind, target="two", at_seconds=5, for_seconds=5)
    planned = plan.plan_of(fault, stack, Container("driver", "one"))
    before = len(calls(tmp_path))
    make(planned)
    heal(FaultPlan.model_validate_json(planned.model_dump_json()))
    reads = ("container inspect", "service ps")
    assert [call for call in calls(tmp_path)[before:] if not any(word in call for word in reads)] == [
        *made,
        *healed,
        *(f"service update --detach --force --quiet lab-swarm_{name}" for name in ("partyb", "partyc")),
    ]


def test_a_host_has_faults_of_its_own(stack: DeployedStack) -> None:
    cut = Fault(kind="partition", target="two", at_seconds=5, for_seconds=5)
    for kind in ("partition", "kill", "restart"):
        inject.check([cut.model_copy(update={"kind": kind})], SETTINGS, stack.hosts)
        inject.check([cut.model_copy(update={"kind": kind, "target": "host-a"})], SETTINGS, ["host-a", "host-b"])
    with pytest.raises(LabError, match="two is a host, not a service"):
        inject.check([cut.model_copy(update={"kind": "pause"})], SETTINGS, stack.hosts)
    with pytest.raises(LabError, match="the lab has no 'two'"):
        inject.check([cut], SETTINGS)
