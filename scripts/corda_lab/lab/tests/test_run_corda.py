"""The start script of a node, with all of its folders below a temporary one, and in place of Java what it was told."""

import os
import re
import shutil
import stat
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from corda_lab.paths import ROOT

SCRIPT = ROOT / "nodes" / "bin" / "run-corda"
STUB = '#!/bin/bash\nprintf "%s\\n" "$LAB_BASE_DIRECTORY" "$@" >> "{calls}"\n'
PLACES = re.compile(r"(?<![\w$}/])/(opt/corda|node|network|tmp|proc/self/mountinfo)(?![\w-])")
FIRST, SECOND = "a" * 64, "b" * 64
"""Ids of containers."""


@dataclass(frozen=True)
class Container:
    """The folders of a node's container, below ``root``."""

    root: Path

    @property
    def base(self) -> Path:
        return self.root / "opt/corda/persistence/base"

    @property
    def calls(self) -> list[str]:
        return (self.root / "calls").read_text(encoding="utf-8").splitlines()

    def start(self, container: str = FIRST, **environment: str) -> None:
        (self.root / "proc/self/mountinfo").write_text(
            f"1 2 254:1 /var/lib/docker/containers/{container}/hostname /etc/hostname rw - ext4 /dev/vda1 rw\n"
        )
        script = PLACES.sub(rf"{self.root}/\1", SCRIPT.read_text(encoding="utf-8"))
        done = subprocess.run(
            ["bash", "-c", script],
            env={**os.environ, "HOSTNAME": "partya", "LAB_DATABASE": "h2", "JVM_ARGS": "-Xmx1g", **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr


@pytest.fixture
def node(tmp_path: Path) -> Container:
    files = {
        "node/node.conf": "myLegalName=PartyA\n",
        "node/jvm.args": "-Xint\n",
        "node/certificates/nodekeystore.jks": "keys",
        "node/node-infos/nodeInfo-partya": "info",
        "network/network-parameters": "parameters",
        "network/schemas": "hash migration/table.xml\n",
        "network/cordapps/flows.jar": "jar",
        "network/bin/drivers/postgresql.jar": "jar",
        "network/bin/platform-version": "12\n",
        "network/bin/traces/driver.jar": "jar",
        "network/bin/node-java": STUB.format(calls=tmp_path / "calls"),
        "opt/corda/template/persistence.mv.db": "empty",
        "opt/corda/template/schemas": "hash migration/table.xml\n",
    }
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    for name in ("opt/corda/lib", "opt/corda/artemis", "opt/corda/persistence", "proc/self", "tmp"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "network/bin/node-java").chmod(0o755)
    return Container(tmp_path)


def test_a_node_starts_in_its_volume_and_with_its_own_keys(node: Container) -> None:
    node.start()
    assert (node.base / "certificates/nodekeystore.jks").read_text(encoding="utf-8") == "keys"
    assert (node.base / "node.conf").read_text(encoding="utf-8") == "myLegalName=PartyA\n"
    # The volume of the ledger, which audits read, has no key and no password.
    assert (node.base / "certificates/nodekeystore.jks").is_symlink()
    assert (node.base / "node.conf").is_symlink()
    assert (node.base / "logs").is_dir()
    assert (node.base / "artemis").readlink() == node.root / "opt/corda/artemis"
    assert (node.base.parent / "persistence.mv.db").read_text(encoding="utf-8") == "empty"
    assert (node.calls[0], node.calls[-4:]) == (
        str(node.base),
        ["-Xmx1g", "--", "--config-file", str(node.base / "node.conf")],
    )
    assert "run-migration-scripts" not in node.calls
    assert stat.S_IMODE((node.base / "cordapps/flows.jar").stat().st_mode) & 0o077 == 0


def test_only_volumes_and_what_is_temporary_are_written(node: Container) -> None:
    def outside() -> set[Path]:
        kept = ("opt/corda/persistence", "opt/corda/artemis", "tmp", "proc", "calls")
        return {path for path in node.root.rglob("*") if not str(path.relative_to(node.root)).startswith(kept)}

    before = outside()
    node.start()
    assert outside() == before


def test_logs_live_as_long_as_the_container_and_the_database_as_long_as_the_volume(node: Container) -> None:
    node.start()
    (node.base / "logs/node-partya.log").touch()
    (node.base / "brokers").mkdir()
    (node.base.parent / "persistence.mv.db").write_text("ledger", encoding="utf-8")
    node.start()
    assert (node.base / "logs/node-partya.log").exists()
    assert (node.base / "brokers").exists()
    node.start(SECOND)
    assert list((node.base / "logs").iterdir()) == []
    assert not (node.base / "brokers").exists()
    assert (node.base.parent / "persistence.mv.db").read_text(encoding="utf-8") == "ledger"


def test_corda_3_gets_a_folder_and_no_link(node: Container) -> None:
    (node.root / "network/bin/platform-version").write_text("3\n", encoding="utf-8")
    node.start()
    assert not (node.base / "artemis").is_symlink()
    assert (node.base / "artemis").is_dir()


def test_a_member_of_a_cluster_makes_its_tables_itself(node: Container) -> None:
    (node.root / "node/node.conf").write_text("notary {\n    raft {\n    }\n}\n", encoding="utf-8")
    node.start()
    assert not (node.base.parent / "persistence.mv.db").exists()
    assert "run-migration-scripts" in node.calls
    assert "--core-schemas" in node.calls
    assert not (node.base / "node.conf").is_symlink()
    assert not (node.base / "certificates/nodekeystore.jks").is_symlink()


def test_settings_of_cordapps_come_and_go_with_them(node: Container) -> None:
    settings = node.root / "network/cordapps/config/flows.conf"
    settings.parent.mkdir()
    settings.write_text("limit = 5\n", encoding="utf-8")
    node.start()
    assert (node.base / "cordapps/config/flows.conf").read_text(encoding="utf-8") == "limit = 5\n"
    shutil.rmtree(settings.parent)
    node.start()
    assert [path.name for path in (node.base / "cordapps").iterdir()] == ["flows.jar"]


@pytest.mark.parametrize(
    ("schemas", "platform", "does"),
    [("own.jar com.example.SchemaV1\n", "12", True), ("own.jar com.example.SchemaV1\n", "7", False), ("", "12", False)],
)
def test_hibernate_makes_the_tables_of_schemas_without_files(
    node: Container, schemas: str, platform: str, does: bool
) -> None:
    (node.root / "network/unmanaged-schemas").write_text(schemas, encoding="utf-8")
    (node.root / "network/bin/platform-version").write_text(f"{platform}\n", encoding="utf-8")
    node.start()
    assert (node.calls[-1] == "--allow-hibernate-to-manage-app-schema") is does
    assert node.calls.count("--allow-hibernate-to-manage-app-schema") == does


@pytest.mark.parametrize(
    ("platform", "traces", "of_r3", "does"),
    [
        ("12", "on", False, True),
        ("12", "off", False, False),
        ("11", "on", False, False),
        ("12", "on", True, False),
    ],
    ids=["on", "off", "before Corda 4.10", "with R3's driver"],
)
def test_the_driver_for_spans_is_loaded_where_corda_has_spans_and_no_other_driver(
    node: Container, platform: str, traces: str, of_r3: bool, does: bool
) -> None:
    (node.root / "network/bin/platform-version").write_text(f"{platform}\n", encoding="utf-8")
    name = "corda-opentelemetry-driver-4.10.jar"
    if of_r3:
        (node.root / "opt/corda/drivers").mkdir()
        (node.root / "opt/corda/drivers" / name).touch()
    node.start(LAB_TRACES=traces, LAB_TRACES_FILE="/opt/corda/spans.ndjson")
    assert (f"-Xbootclasspath/a:{node.root}/network/bin/traces/driver.jar" in node.calls) is does
    assert (node.base / "drivers" / name).exists() is of_r3
