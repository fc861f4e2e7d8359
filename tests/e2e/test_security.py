"""Every line of SECURITY.md, in the containers of a running lab.

``test_shapes.py`` makes those checks that inspect containers on a lab with PostgreSQL, links and a load too.
"""

import gzip
import json
import os
import re
import shutil
import socket
import subprocess
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from corda_lab.host import engine
from corda_lab.lab import doctor
from corda_lab.lab.docker import docker
from corda_lab.lab.images import image_name
from corda_lab.node_logs import read as node_logs
from corda_lab.paths import ROOT
from corda_lab.runs.rows_volume import RowsVolume
from e2e.containerkit import LOAD, Containers, containers_of, created_during, file_in, mounts_of, running, said_of
from e2e.faultkit import lasting
from e2e.labkit import Lab

pytestmark = pytest.mark.lab("standard")

PUBLISHED = {"bridge", "locust", "prometheus", "grafana"}
"""The services with a port on this machine."""
WITH_SECRETS = {"bridge", "grafana", "postgres", "postgres-exporter"}
"""The services that have passwords of their own."""
NODE_LOGS = "/opt/corda/persistence/base/logs"
DNS_PORT = 53
RESOLVERS = (Path("/etc/resolv.conf"), Path("/run/systemd/resolve/resolv.conf"))
"""Files with the name servers of this machine. systemd has itself in the first, and those that it asks in the other."""
OUTSIDE = "example.org"
"""A name that is resolved wherever outside names are."""
ANONYMOUS = re.compile(r"[0-9a-f]{64}")
"""The name of a volume that only one container has."""
UNTOUCHED = "partyc"
"""No other test of this lab starts flows on it."""
ROWS = "locust-rows"
"""The volume with the rows of loads."""
FORBIDDEN_CALLS = Path(__file__).parent / "rpc" / "ForbiddenCalls.java"
TEXTS = {".csv", ".html", ".json", ".log", ".md", ".ndjson", ".txt", ".yaml"}
LINE = re.compile(r"^\|.*\| `(\w+)` \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def containers(lab: Lab) -> Containers:
    return containers_of(lab)


@pytest.fixture(scope="module")
def passwords(lab: Lab, containers: Containers) -> dict[str, str]:
    return passwords_of(lab, containers)


def passwords_of(lab: Lab, containers: Containers) -> dict[str, str]:
    """Return all generated passwords of the lab by what they protect. They differ, and none is short."""
    node = file_in(lab, "partya", "/node/node.conf")
    key_stores = re.search(r'keyStorePassword\s*=\s*"?([^"\s]+)', node)
    assert key_stores is not None
    found = {"RPC": file_in(lab, "bridge", "/secrets/rpc-password"), "key stores": key_stores[1]}
    if "grafana" in containers:
        found["Grafana"] = file_in(lab, "grafana", "/secrets/admin-password")
    if "postgres" in containers:
        roles = lab.compose.exec("postgres", "ls", "/secrets").stdout.split()
        assert {"lab", "exporter", "notary", "partya"} <= set(roles)
        found |= {f"PostgreSQL, role {role}": file_in(lab, "postgres", f"/secrets/{role}") for role in roles}
        assert found["PostgreSQL, role exporter"] == file_in(lab, "postgres-exporter", "/secrets/password")
        assert found["PostgreSQL, role partya"] in node
    assert all(len(password) >= 32 for password in found.values())
    assert len(set(found.values())) == len(found)
    return found


def test_every_line_of_the_document_has_its_test() -> None:
    lines = LINE.findall((ROOT / "SECURITY.md").read_text(encoding="utf-8"))
    tests = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert set(lines) == tests - {"every_line_of_the_document_has_its_test"}


def test_ports_are_on_loopback(containers: Containers) -> None:
    for service, container in containers.items():
        bindings = [one for several in (container["HostConfig"]["PortBindings"] or {}).values() for one in several]
        assert all(binding["HostIp"] == "127.0.0.1" for binding in bindings), service
        assert bool(bindings) == (service in PUBLISHED), service


def test_no_container_has_a_privilege(containers: Containers) -> None:
    for service, container in containers.items():
        host = container["HostConfig"]
        assert container["Config"]["User"].partition(":")[0] not in {"", "0", "root"}, service
        assert [name for name in ("Privileged", "CapAdd", "Devices") if host[name]] == [], service
        assert host["CapDrop"] == ["ALL"], service
        assert "no-new-privileges:true" in host["SecurityOpt"], service
        modes = ("PidMode", "UTSMode", "NetworkMode", "IpcMode", "UsernsMode")
        assert [mode for mode in modes if host[mode] == "host"] == [], service
        # The socket of an engine, or a folder with one, would be another source.
        bound = [Path(mount["Source"]) for mount in container["Mounts"] if mount["Type"] == "bind"]
        assert [source for source in bound if not source.is_relative_to(ROOT)] == [], service


def test_roots_are_read_only(lab: Lab, containers: Containers) -> None:
    assert [name for name, container in containers.items() if not container["HostConfig"]["ReadonlyRootfs"]] == []
    for service in running(containers):
        mounts = [line.split() for line in file_in(lab, service, "/proc/mounts").splitlines()]
        (root,) = [options.split(",") for _, place, _, options, *_ in mounts if place == "/"]
        assert "ro" in root, service


def test_every_container_has_limits(containers: Containers) -> None:
    for service, container in containers.items():
        host = container["HostConfig"]
        assert host["Memory"] > 0, service
        assert host["PidsLimit"] > 0, service
        assert {"max-size", "max-file"} <= set(host["LogConfig"]["Config"]), service


def outside() -> list[str]:
    """The name servers that this machine reaches by TCP. No other address outside is known on every machine."""
    lines = [line for path in RESOLVERS if path.is_file() for line in path.read_text(encoding="utf-8").splitlines()]
    found = []
    for host in (line.split()[1] for line in lines if re.match(r"nameserver [1-9][0-9.]+$", line)):
        with suppress(OSError), socket.create_connection((host, DNS_PORT), timeout=2):
            found += [host] if not host.startswith("127.") else []
    return found


def test_the_network_is_internal(lab: Lab, containers: Containers) -> None:
    (network,) = json.loads(said_of("network", lab.network))
    assert network["Internal"] is True
    published = lab.network.replace("_default", "_published")
    (second,) = json.loads(said_of("network", published))
    assert second["Options"]["com.docker.network.bridge.enable_ip_masquerade"] == "false"
    for service, container in containers.items():
        # A load is made by containers like that of the web UI, but without a port.
        is_published = service in PUBLISHED or service.startswith(LOAD)
        expected = {lab.network, published} if is_published else {lab.network}
        assert set(container["NetworkSettings"]["Networks"]) == expected, service
    for host in outside():
        for service in ("partya", "bridge", "locust"):
            tried = f"timeout 3 bash -c '</dev/tcp/{host}/{DNS_PORT}' 2> /dev/null && echo yes || echo no"
            assert lab.inside(service, tried).strip() == "no", f"{service} reaches {host}"


def resolves(lab: Lab, service: str, name: str) -> bool:
    """Whether a service gets an address for a name within four seconds."""
    tried = f"timeout 4 getent ahostsv4 {name} > /dev/null && echo yes || echo no"
    return lab.inside(service, tried).strip() == "yes"


def test_no_outside_name_is_resolved(lab: Lab, containers: Containers) -> None:
    for service in PUBLISHED & set(containers):
        # The engine takes it for the loopback address of the container.
        assert containers[service]["HostConfig"]["Dns"] == ["127.0.0.1"], service
    assert resolves(lab, "bridge", "partya")
    assert resolves(lab, "partya", "bridge")
    if not resolved_here(OUTSIDE):
        print(f"this machine does not resolve {OUTSIDE} itself: only settings are checked")
    assert not resolves(lab, "bridge", OUTSIDE)
    holes = [hole.finding for hole in doctor.engine_exposures(engine.probe().server_version)]
    # Old engines ask the host's name server for nodes, and `lab up` warns of them.
    if not any("CVE-2024-29018" in hole for hole in holes):
        assert not resolves(lab, "partya", OUTSIDE)


def resolved_here(name: str) -> bool:
    """Whether this machine gets an address for a name within four seconds."""
    tried = subprocess.run(["timeout", "4", "getent", "ahostsv4", name], capture_output=True, check=False)
    return tried.returncode == 0


def test_a_node_sees_only_its_own_keys(lab: Lab, containers: Containers) -> None:
    for service in running(containers):
        is_node = service.startswith(("notary", "party"))
        expected = {(f"{service}-keys", False)} if is_node else set()
        assert mounts_of(containers[service], "-keys") == expected, service
        ledgers = {(f"{service}-persistence", True)} if is_node else set()
        assert mounts_of(containers[service], "-persistence") == ledgers, service
    # Containers that read ledgers or logs see the volume of the ledger.
    secrets = "find /opt/corda/persistence -type f '(' -name '*.jks' -o -name node.conf ')'"
    assert lab.inside("partya", secrets) == ""
    shared = lab.inside("partya", "find /network -name '*.jks' -o -name node.conf -o -name '*password*'")
    assert shared == ""
    assert "nodekeystore.jks" in lab.inside("partya", "ls /node/certificates")


def test_a_service_sees_only_its_own_passwords(containers: Containers) -> None:
    for service in running(containers):
        expected = {(f"{service}-secrets", False)} if service in WITH_SECRETS else set()
        assert mounts_of(containers[service], "-secrets") == expected, service
        assert mounts_of(containers[service], "authority") == set(), service


def test_helpers_have_only_what_they_need(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    def each_kind() -> None:
        # What other tests have left on the ledgers is not its matter.
        lab.run("audit", *(run.name for run in reported(lab)[-1:]))
        lab.run("doctor")
        known = node_logs.find(lab.compose, UNTOUCHED).secrets
        assert known
        with monkeypatch.context() as patch:
            # The log of a node that does not run is read from its volume, and so are rows without a web UI.
            ended = [replace(service, state="exited") for service in lab.compose.services()]
            patch.setattr(lab.compose, "services", lambda: ended)
            patch.setattr(lab.compose, "container", lambda _: None)
            log = node_logs.find(lab.compose, UNTOUCHED)
            assert not log.is_running
            assert log.secrets == known
            with closing(node_logs.lines(log)) as lines:
                assert any("started up and registered in" in (line or "") for line in lines)
            RowsVolume(lab.compose).identities()
        with lasting(lab.compose, "partition", UNTOUCHED):
            pass
        with lasting(lab.compose, "full-disk", "bridge"):
            pass

    kinds, read, secret = set(), set(), set()
    images = {lab.compose.reader_image, lab.compose.helper_image, lab.compose.settings.node_image}
    for helper in created_during(each_kind, images):
        host = helper["HostConfig"]
        command = helper["Config"]["Entrypoint"], helper["Config"]["Cmd"]
        assert not host["Privileged"], command
        assert host["CapDrop"] == ["ALL"], command
        assert host["SecurityOpt"] == ["no-new-privileges:true"], command
        assert min(host["Memory"], host["PidsLimit"]) > 0, command
        # The image of the load generator declares a volume: each container has a new one, which is deleted with it.
        mounts = [mount for mount in helper["Mounts"] if not ANONYMOUS.fullmatch(mount.get("Name", ""))]
        assert {mount["Type"] for mount in mounts} <= {"volume"}, command
        # Rows that were fetched are deleted.
        assert {mount["Name"].partition("_")[2] for mount in mounts if mount["RW"]} <= {ROWS}, command
        read |= {mount["Name"].partition("_")[2] for mount in mounts}
        secret |= {mount for suffix in ("-keys", "-secrets", "authority") for mount in mounts_of(helper, suffix)}
        joined = {host["NetworkMode"].partition(":")[0], host["PidMode"].partition(":")[0]} - {"none", ""}
        assert joined <= {"container"}, command
        kinds.add(kind_of(helper, has_volumes=bool(mounts)))
    assert kinds == {
        ("nothing", "user", "volumes"),
        ("network", "root", "no volume", "NET_ADMIN"),
        ("processes", "user", "no volume"),
    }
    assert {"network", f"{UNTOUCHED}-persistence", ROWS} <= read
    # The passwords of a node that does not run, to look for them in its log.
    assert secret == {(f"{UNTOUCHED}-keys", False)}


def kind_of(helper: dict[str, Any], *, has_volumes: bool) -> tuple[str, ...]:
    """Return what a container joins, as whom, whether it has volumes, and its capabilities."""
    host = helper["HostConfig"]
    return (
        "network" if host["NetworkMode"] != "none" else "processes" if host["PidMode"] else "nothing",
        "root" if helper["Config"]["User"].partition(":")[0] in {"", "0", "root"} else "user",
        "volumes" if has_volumes else "no volume",
        *(name.removeprefix("CAP_") for name in host["CapAdd"] or ()),
    )


def test_no_password_is_in_an_environment(lab: Lab, containers: Containers, passwords: dict[str, str]) -> None:
    inspected = json.dumps(containers)
    assert [name for name, password in passwords.items() if password in inspected] == []
    for service in running(containers):
        seen = lab.compose.exec(service, "cat", "/proc/1/environ", "/proc/1/cmdline", check=False).stdout
        # Without it, the environment could not be read, and nothing was looked at.
        assert "PATH=" in seen, service
        # Their own start scripts put the content of the file into the environments of Grafana and of PostgreSQL.
        own = {"grafana": {"Grafana"}, "postgres": {"PostgreSQL, role lab"}}.get(service, set())
        leaked = {name for name, password in passwords.items() if password in seen}
        assert leaked <= own, service


def reported(lab: Lab) -> list[Path]:
    """The folders of the runs that have a report, oldest first. Tests of failures leave others."""
    return [run for run in lab.results() if (run / "report.html").is_file()]


def files_with(container: str, folder: str, words: list[str]) -> list[str]:
    """Return the files below a folder of a container that contain one of some words. No command line has them."""
    command = ["docker", "exec", "-i", container, "grep", "-rlF", "-f", "-", folder]
    done = subprocess.run(command, input="\n".join(words), capture_output=True, text=True, check=False, timeout=120)
    # 1: no file. Anything else says that nothing was looked at.
    assert done.returncode in (0, 1), done.stderr
    return done.stdout.splitlines()


def test_no_password_is_in_logs_or_results(lab: Lab, containers: Containers, passwords: dict[str, str]) -> None:
    # What a node writes into files of its own is more than what it prints.
    nodes = [name for name in running(containers) if name.startswith(("notary", "party"))]
    assert any(lab.inside(node, f"find {NODE_LOGS} -type f -size +0") for node in nodes)
    for node in nodes:
        assert files_with(containers[node]["Name"].lstrip("/"), NODE_LOGS, list(passwords.values())) == [], node
    if not reported(lab):
        lab.measure("iou", "--users", "2", "--duration", "6s", "--warm-up", "1s", "--name", "e2e-security")
    texts = {"logs": lab.compose.run("logs", "--no-color", "--tail", "10000").stdout}
    # A node logs its settings when it starts.
    texts["log of PartyA"] = lab.succeed("logs", "PartyA").stdout
    assert "PartyA" in texts["log of PartyA"]
    failed = [run for run in reported(lab) if any(run.glob("steps/*/logs"))]
    for run in (reported(lab)[-1], *failed[-1:]):
        for path in sorted(run.rglob("*")):
            if path.suffix == ".gz":
                texts[path.name] = gzip.decompress(path.read_bytes()).decode(errors="replace")
            elif path.suffix in TEXTS:
                texts[path.name] = path.read_text(encoding="utf-8", errors="replace")
    assert {"logs", "run.json", "report.html"} <= set(texts)
    assert [(where, name) for where, text in texts.items() for name, word in passwords.items() if word in text] == []


def called_by_rpc(lab: Lab, bridge: str, folder: Path) -> dict[str, str]:
    """Operation → what a node says to the RPC user, who calls it from a container of the bridge's image."""
    folder.chmod(0o777)  # the containers run as other users
    copied = docker("cp", f"{bridge}:/opt/corda-lab/lib", str(folder))
    assert copied.returncode == 0, copied.stderr
    source = shutil.copy(FORBIDDEN_CALLS, folder)
    compiler = ["run", "--rm", "--network=none", f"--user={os.geteuid()}:{os.getegid()}", f"--volume={folder}:{folder}"]
    compiler += ["--entrypoint=javac", image_name(lab.settings, "MAVEN_IMAGE")]
    made = docker(*compiler, "-d", str(folder), "-cp", f"{folder}/lib/*", str(source), seconds_max=120)
    assert made.returncode == 0, made.stderr
    options = ["run", "--rm", "--no-deps", "-T", "--env=BRIDGE_HEAP=192m", f"--volume={folder}:/tests:ro"]
    options += ["--entrypoint=/opt/corda-lab/run-java", "bridge", "--class-path=/tests:/opt/corda-lab/lib/*"]
    lines = lab.compose.run(*options, "ForbiddenCalls", "partya").stdout.splitlines()
    return {operation: said for operation, _, said in (line.partition(": ") for line in lines)}


@pytest.mark.nightly  # It compiles a client of its own.
def test_the_rpc_user_is_not_almighty(lab: Lab, containers: Containers, tmp_path: Path) -> None:
    settings = file_in(lab, "partya", "/node/node.conf")
    permissions = re.search(r"permissions\s*=\s*\[(.*?)\]", settings, re.DOTALL)
    assert permissions is not None
    granted = re.findall(r'[^\s",]+', permissions[1])
    assert "InvokeRpc.nodeInfo" in granted
    assert all(one.startswith("InvokeRpc.") for one in granted)
    assert not {"shutdown", "terminate", "killFlow", "setFlowsDrainingModeEnabled"} & {
        one.removeprefix("InvokeRpc.") for one in granted
    }
    said = called_by_rpc(lab, containers["bridge"]["Id"], tmp_path)
    assert said["nodeInfo"] == "answered"
    for operation in ("killFlow", "setFlowsDrainingModeEnabled"):
        assert "not authorized" in said[operation], said


def test_foreign_hosts_and_origins_are_refused(lab: Lab) -> None:
    locust = lab.settings.url("LOCUST_PORT")
    for address in (f"{lab.bridge_url}/v1/nodes", f"{locust}/"):
        for headers, status in (({"Host": "evil.example"}, 421), ({"Origin": "http://evil.example"}, 403)):
            answer = httpx.get(address, headers=headers, timeout=30, trust_env=False)
            assert answer.status_code == status, (address, headers)
    asked = f"{lab.prometheus_url}/api/v1/query?query=up"
    answer = httpx.get(asked, headers={"Origin": "http://evil.example"}, timeout=30, trust_env=False)
    assert "access-control-allow-origin" not in answer.headers


def test_grafana_reports_nothing(containers: Containers) -> None:
    # Where its image is not available, the file that would start it says the same.
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    environment = containers["grafana"]["Config"]["Env"] if "grafana" in containers else text.replace(": ", "=")
    for expected in (
        "GF_ANALYTICS_REPORTING_ENABLED",
        "GF_ANALYTICS_CHECK_FOR_UPDATES",
    ):
        assert any(re.search(rf'{expected}="?false', line) for line in as_lines(environment))
    assert any(re.search(r"GF_AUTH_ANONYMOUS_ORG_ROLE=Viewer", line) for line in as_lines(environment))


def as_lines(environment: list[str] | str) -> list[str]:
    return environment.splitlines() if isinstance(environment, str) else environment
