"""A network that consists of its databases only, for the tests of reading: what is in them, and what reads them."""

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl
import pytest

from corda_lab.audit import databases
from corda_lab.audit.command import audit_load
from corda_lab.audit.tests.test_transactions import BYTES, KEYS, PARTY_A
from corda_lab.errors import LabError
from corda_lab.lab.compose import Compose
from corda_lab.lab.docker import Container
from corda_lab.lab.lab import Service
from corda_lab.lab.settings import Settings
from corda_lab.results.audits import Audit, ViolationKind
from e2e.ledger_databases import H2, TABLES, Content, Postgres, moment, text

DATABASES = ("h2", "postgres")
NODES = ("Notary", "PartyA", "PartyB")
NAMES = {"Notary": "O=Notary, L=London, C=GB", "PartyA": PARTY_A, "PartyB": "O=PartyB, L=New York, C=US"}
ISSUE, PAYMENT, IOU = (BYTES[name][0] for name in ("cash-issue", "cash-pay", "iou"))
CASH, PROMISE = "org.cordalab.states.CashState", "org.cordalab.states.IouState"
BEGAN = 1_000.0
"""When the load began. The coin was issued before, by the set-up."""
GHOST = "F" * 64
"""A transaction that no node has."""
Kind = ViolationKind


class LocalCompose(Compose):
    """Compose without services: what would run in a node's container runs here, with its folders below ``base``."""

    def __init__(self, database: str, base: Path, environment: Mapping[str, str]) -> None:
        values = {
            "DATABASE": database,
            "NOTARY": "simple",
            "PARTIES": "2",
            "CORDA_VERSION": "4.10",
            # That of the user, which has no H2 of its own, is not the one that reads.
            "CORDA_IMAGE": "example.org/corda:4.10",
        }
        self.settings = Settings(values, "local")
        self.project = "local"
        self.base = base
        self.local = environment
        self.present = list(NODES)
        self.containers = 0

    def services(self) -> list[Service]:
        return [Service(node.lower(), Container(node), "running", "healthy", 0) for node in self.present]

    def exec_to_file(self, path: Path, _service: str, *command: str, seconds_max: float = 60) -> None:
        self.execute(path, command, seconds_max)

    def docker_to_file(self, path: Path, *arguments: str, on: str, shown: str, seconds_max: float) -> None:
        """``docker run`` with the volumes of nodes, whose names are those of the folders below ``base``."""
        self.containers += 1
        at = arguments.index(self.settings.own_image("node:4.10"))
        options, command = arguments[:at], list(arguments[at + 1 :])
        assert "--network=none" in options
        for volume in (word.removeprefix("--volume=") for word in options if word.startswith("--volume=")):
            name, mount, mode = volume.split(":")
            assert mode == "ro"
            folder = self.base / name.removeprefix("local_").removesuffix("-persistence") / "persistence"
            command = [word.replace(f"{mount}/", f"{folder}/") for word in command]
        script = [word.replace("/opt/corda", str(self.base / "notary")) for word in command]
        self.execute(path, ["timeout", *script], seconds_max)

    def execute(self, path: Path, command: Sequence[str], seconds_max: float) -> None:
        with path.open("wb") as stream:
            done = subprocess.run(
                command, stdout=stream, stderr=subprocess.PIPE, env=self.local, check=False, timeout=seconds_max
            )
        if done.returncode != 0:
            raise LabError(f"`docker` failed: {done.stderr.decode()[-300:]}", exit_code=1)


def contents() -> dict[str, Content]:
    """The set-up issued 100 GBP to PartyA. The load paid 75 of it to PartyB, and made an IOU."""
    found = {node: Content() for node in NODES}
    for content in found.values():
        for node, name in NAMES.items():
            content.add("node_info_party_cert", text(name), text(KEYS[node]))

    def record(node: str, name: str, flow: str, at: float) -> None:
        identity, data = BYTES[name]
        found[node].add("node_transactions", text(identity), f"<{data.hex()}>", text(flow), text("V"), moment(at))

    def state(node: str, of: tuple[str, int], kind: str, at: float, spent: float | None, *holders: str) -> None:
        identity, index = of
        status, consumed = ("0", "null") if spent is None else ("1", moment(spent))
        found[node].add("vault_states", str(index), text(identity), text(kind), status, moment(at), consumed, "0")
        for holder in holders:
            found[node].add("state_party", str(index), text(identity), text(KEYS[holder]), text(NAMES[holder]))

    record("PartyA", "cash-issue", "flow-setup", BEGAN - 10)
    record("PartyB", "cash-issue", "flow-receive", BEGAN + 1)
    state("PartyA", (ISSUE, 0), CASH, BEGAN - 10, BEGAN + 1, "PartyA")
    for node, flow in (("PartyA", "flow-pay"), ("PartyB", "flow-receive")):
        record(node, "cash-pay", flow, BEGAN + 1)
    state("PartyB", (PAYMENT, 0), CASH, BEGAN + 1, None, "PartyB")
    state("PartyA", (PAYMENT, 1), CASH, BEGAN + 1, None, "PartyA")
    for node, flow in (("PartyA", "flow-iou"), ("PartyB", "flow-sign")):
        record(node, "iou", flow, BEGAN + 2)
        state(node, (IOU, 0), PROMISE, BEGAN + 2, None, "PartyA", "PartyB")
    notary = found["Notary"]
    notary.add("node_notary_committed_states", "0", text(ISSUE), text(PAYMENT))
    notary.add("node_notary_committed_txs", text(PAYMENT))
    notary.add("node_notary_request_log", text("1"), text(PAYMENT), moment(BEGAN + 1))
    # The outcome of a flow that ended, kept for its caller.
    found["PartyA"].add("node_checkpoints", text("flow-iou"), "2")
    found["PartyA"].add("node_flow_metadata", text("flow-iou"), text("Iou"), text("run-2"))
    return found


ROWS = pl.DataFrame(
    {
        "client_id": ["run-1", "run-2"],
        "node": ["PartyA", "PartyA"],
        "flow_id": ["flow-pay", "flow-iou"],
        "tx_id": [PAYMENT, IOU],
        "outcome": ["ok", "ok"],
        "started_at": [BEGAN, BEGAN + 1.5],
        "ended_at": [BEGAN + 1.5, BEGAN + 3],
    }
)

Database = Literal["h2", "postgres"]


class Ledger:
    """The databases of a network, in which a test can change something."""

    def __init__(self, compose: LocalCompose, h2: H2 | None, postgres: Postgres | None) -> None:
        self.compose = compose
        self.h2 = h2
        self.postgres = postgres

    def change(self, node: str, statements: str) -> None:
        if self.h2 is not None:
            script = self.compose.base / "change.sql"
            script.write_text(statements, encoding="utf-8")
            file = self.compose.base / node.lower() / "persistence" / "persistence"
            self.h2.run_script(file, script)
        else:
            assert self.postgres is not None
            self.postgres.execute(f"set search_path = {node.lower()};\n{statements}")

    def store(self, node: str, identity: str, data: bytes) -> None:
        """Replace the bytes of a transaction, in the form in which this database has them."""
        as_blob = f"'{data.hex()}'" if self.h2 is not None else f"lo_from_bytea(0, decode('{data.hex()}', 'hex'))"
        self.change(node, f"update node_transactions set transaction_value = {as_blob} where tx_id = '{identity}';")

    def audit(self, rows: pl.DataFrame = ROWS, deadline_seconds: float = 60) -> Audit:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(databases, "docker_to_file", self.compose.docker_to_file)
            return audit_load(self.compose, rows, deadline_seconds)


def h2_statements(content: Content) -> str:
    return TABLES.format(bytes="blob") + content.statements().replace("<", "'").replace(">", "'")


def postgres_statements(node: str, content: Content, of_bytes: str) -> str:
    filled = content.statements()
    if of_bytes == "oid":
        filled = filled.replace("<", "lo_from_bytea(0, decode('").replace(">", "', 'hex'))")
    else:
        filled = filled.replace("<", "decode('").replace(">", "', 'hex')")
    made = TABLES.format(bytes=of_bytes)
    return f"create schema {node.lower()}; set search_path = {node.lower()};\n{made}{filled}"


@dataclass(frozen=True)
class Servers:
    """What is made once for all tests: folders with H2 files, and a PostgreSQL server."""

    folder: Path
    h2: H2
    postgres: Postgres


def made(servers: Servers, database: str, folder: Path, of_bytes: str = "oid") -> Ledger:
    """A network of this test's own."""
    if database == "h2":
        shutil.copytree(servers.folder, folder / "nodes", symlinks=True)
        compose = LocalCompose("h2", folder / "nodes", servers.h2.java.environment())
        return Ledger(compose, servers.h2, None)
    for node, content in contents().items():
        servers.postgres.execute(
            f"drop schema if exists {node.lower()} cascade;" + postgres_statements(node, content, of_bytes)
        )
    return Ledger(LocalCompose("postgres", folder, servers.postgres.psql.environment()), None, servers.postgres)
