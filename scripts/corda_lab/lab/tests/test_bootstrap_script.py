"""The bootstrapper's script, with its folders below a temporary one, and in place of Java what it would write."""

import os
import re
import stat
import subprocess
from pathlib import Path

import pytest

from corda_lab.paths import ROOT

SCRIPT = ROOT / "nodes" / "bin" / "bootstrap"
PLACES = re.compile(r"(?<![\w$}/])/(opt/corda|etc/corda-lab|network|nodes|authority|secrets)(?![\w-])")
JAVA = """\
#!/bin/bash
[[ $* != *org.cordalab.nodes.UnmanagedSchemas* ]] || exec cat {root}/unmanaged
[[ $* != *org.cordalab.nodes.CordappConfigs* ]] || exec cat {root}/sound
[[ $* == *org.cordalab.nodes.Bootstrap* ]] || exit 0
echo "${{@: -5}}" >> {root}/calls
for file in bridge/rpc-password jmeter/rpc-password grafana/admin-password postgres/lab postgres-exporter/password; do
  mkdir --parents "{root}/secrets/${{file%/*}}"
  echo generated > "{root}/secrets/$file"
done
cd {root}/network
touch network-parameters bridge.env database-targets.json links.json parties targets.json
"""
NODE_FILES = (
    *("run-corda", "node-java", "healthcheck", "log4j2-tuned.xml", "tuned.security"),
    *("jmx-exporter.jar", "node-agent.jar"),
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    names = [f"opt/corda/bin/{name}" for name in (*NODE_FILES, "asprof", "libasyncProfiler.so")]
    names += [
        "opt/corda/cordapps/flows.jar",
        "opt/corda/drivers/postgresql.jar",
        "opt/corda/bootstrap-lib/bootstrap.jar",
        "opt/corda/traces/sdk.jar",
    ]
    names += ["etc/corda-lab/jmx-exporter.yaml", "etc/corda-lab/network.conf", "etc/corda-lab/nodes/stock.conf"]
    for name in (*names, "bin/java", "opt/corda/bin/platform-version", "unmanaged", "sound"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("12\n", encoding="utf-8")
    (tmp_path / "bin/java").write_text(JAVA.format(root=tmp_path), encoding="utf-8")
    (tmp_path / "bin/java").chmod(0o755)
    (tmp_path / "unmanaged").write_text("", encoding="utf-8")
    for name in ("network", "nodes", "authority", "secrets"):
        (tmp_path / name).mkdir()
    return tmp_path


def bootstrap(root: Path, **changes: str) -> subprocess.CompletedProcess[str]:
    shape = {"LAB_CORDA_VERSION": "4.10", "DATABASE": "postgres", "NOTARY": "simple", "DEV_MODE": "false"}
    others = {"PARTIES": "3", "CORDAPP": "lab", "NODE_PRESET": "stock", "RPC_USER": "lab"}
    return subprocess.run(
        ["bash", "-c", PLACES.sub(rf"{root}/\1", SCRIPT.read_text(encoding="utf-8"))],
        env={"PATH": f"{root / 'bin'}:{os.environ['PATH']}", **shape, **others, **changes},
        capture_output=True,
        text=True,
        check=False,
    )


def calls(root: Path) -> list[str]:
    path = root / "calls"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def test_the_network_is_made_once(root: Path) -> None:
    for _ in range(2):
        done = bootstrap(root)
        assert done.returncode == 0, done.stderr
    places = ("etc/corda-lab", "network", "nodes", "authority", "secrets")
    assert calls(root) == [" ".join(str(root / place) for place in places)]
    assert done.stdout == "the network already exists\n"


@pytest.mark.parametrize(
    "missing", ["secrets/bridge/rpc-password", "secrets/postgres/lab", "network/network-parameters"]
)
def test_what_a_deleted_volume_had_is_handed_out_again(root: Path, missing: str) -> None:
    bootstrap(root)
    (root / missing).unlink()
    bootstrap(root)
    assert (root / missing).exists()
    assert len(calls(root)) == 2


@pytest.mark.parametrize("variable", ["RPC_PASSWORD", "GRAFANA_PASSWORD", "POSTGRES_PASSWORD"])
def test_a_password_that_is_set_is_handed_out(root: Path, variable: str) -> None:
    bootstrap(root)
    bootstrap(root, **{variable: "mine"})
    assert len(calls(root)) == 2


def test_passwords_can_be_read_by_whoever_has_the_volume_and_nothing_about_them_is_in_the_network(root: Path) -> None:
    bootstrap(root, RPC_PASSWORD="mine")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (root / "secrets").rglob("*") if path.is_file()}
    assert modes == {0o644}
    assert (root / "authority/fingerprint").exists()
    assert {path.name for path in (root / "network").iterdir()} == {
        *("network-parameters", "bridge.env", "links.json", "parties", "targets.json", "database-targets.json"),
        *("shape", "schemas", "bin", "cordapps"),
    }


def extra(root: Path, *names: str) -> None:
    for name in names:
        path = root / "etc/corda-lab/cordapps" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("content\n", encoding="utf-8")


def test_settings_of_cordapps_are_installed_and_deleted_with_them(root: Path) -> None:
    extra(root, "own.jar", "config/own.conf")
    done = bootstrap(root)
    assert done.returncode == 0, done.stderr
    assert "installed cordapps/extra/config/own.conf\n" in done.stdout
    assert (root / "network/cordapps/config/own.conf").exists()
    (root / "etc/corda-lab/cordapps/config/own.conf").unlink()
    bootstrap(root)
    assert {path.name for path in (root / "network/cordapps").iterdir()} == {"flows.jar", "own.jar"}
    assert len(calls(root)) == 2


def test_settings_that_nobody_would_read_are_refused(root: Path) -> None:
    extra(root, "own.jar", "config/owm.conf")
    done = bootstrap(root)
    assert done.returncode == 2
    assert "cordapps/extra/config/owm.conf belongs to no CorDapp: there is no owm.jar" in done.stderr
    assert calls(root) == []


def test_settings_that_cannot_be_read_are_refused(root: Path) -> None:
    extra(root, "own.jar", "config/own.conf")
    (root / "sound").unlink()
    done = bootstrap(root)
    assert done.returncode != 0
    assert calls(root) == []


def test_schemas_without_files_need_development_mode(root: Path) -> None:
    extra(root, "own.jar")
    (root / "unmanaged").write_text("own.jar com.example.SchemaV1\nown.jar com.example.SchemaV2\n", encoding="utf-8")
    done = bootstrap(root)
    assert done.returncode == 2
    for schema in ("SchemaV1", "SchemaV2"):
        assert f"cordapps/extra/own.jar: the schema com.example.{schema} has no Liquibase files" in done.stderr
    assert "up --set DEV_MODE=true" in done.stderr
    assert calls(root) == []
    done = bootstrap(root, DEV_MODE="true")
    assert done.returncode == 0, done.stderr
    assert "Hibernate creates the tables of com.example.SchemaV2" in done.stdout
    assert (root / "network/unmanaged-schemas").read_text(encoding="utf-8").count("\n") == 2
    (root / "etc/corda-lab/cordapps/own.jar").unlink()
    bootstrap(root, DEV_MODE="true")
    assert not (root / "network/unmanaged-schemas").exists()
