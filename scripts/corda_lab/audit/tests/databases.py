"""Databases as nodes make them, for tests: real H2 files and a real PostgreSQL, where their programs can be had."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

TABLES = """\
create table node_infos (serial bigint);
create table node_info_party_cert (party_name varchar(255), owning_key_hash varchar(255));
create table node_our_key_pairs (public_key_hash varchar(255));
create table node_transactions (tx_id varchar(144) primary key, transaction_value {bytes}, state_machine_run_id
  varchar(36), status varchar(1){transaction_time});
create table vault_states (output_index int, transaction_id varchar(144), contract_state_class_name varchar(255),
  state_status int, recorded_timestamp timestamp, consumed_timestamp timestamp,
  primary key (output_index, transaction_id));
create table state_party (output_index int, transaction_id varchar(144), public_key_hash varchar(255),
  x500_name varchar(255));
create table node_checkpoints ({checkpoint});
create table node_notary_committed_states (output_index int, transaction_id varchar(144), consuming_transaction_id
  varchar(144));
create table node_notary_committed_txs (transaction_id varchar(144));
create table node_notary_request_log (id varchar(76), consuming_transaction_id varchar(144),
  request_timestamp timestamp);
"""
METADATA = """\
create table node_flow_metadata (flow_id varchar(128), flow_name varchar(128), flow_identifier varchar(512));
"""


def tables(*, is_old: bool, of_bytes: str) -> str:
    """The tables of a node, with the columns that matter; before Corda 4.6 (``is_old``) there were fewer."""
    return TABLES.format(
        bytes=of_bytes,
        transaction_time="" if is_old else ", timestamp timestamp",
        checkpoint="checkpoint_id varchar(64)" if is_old else "flow_id varchar(64), status int",
    ) + ("" if is_old else METADATA)


def moment(seconds: float) -> str:
    """A time as SQL."""
    return f"timestamp '1970-01-01 00:{int(seconds) // 60:02}:{seconds % 60:06.3f}'"


@dataclass
class Content:
    """The rows of a node, as tuples of SQL by table."""

    rows: dict[str, list[str]] = field(default_factory=dict)

    def add(self, table: str, *values: str) -> "Content":
        self.rows.setdefault(table, []).append(f"({', '.join(values)})")
        return self

    def statements(self) -> str:
        return "".join(f"insert into {table} values {', '.join(rows)};\n" for table, rows in self.rows.items())


def text(value: str) -> str:
    return f"'{value}'"


@dataclass(frozen=True)
class H2:
    """The H2 of the nodes, run by some Java."""

    java: Path
    jar: Path

    @classmethod
    def found(cls) -> "H2 | None":
        """The H2 and the Java of this machine; None if one is missing. ``H2_JAR`` names a jar elsewhere."""
        javas = [Path(which)] if (which := shutil.which("java")) else sorted(Path("/usr/lib/jvm").glob("*/bin/java"))
        local = Path.home() / ".m2" / "repository"
        given = [Path(os.environ["H2_JAR"])] if os.environ.get("H2_JAR") else []
        jars = [*given, *sorted(local.glob("com/h2database/h2/1.4.19*/h2-*.jar"))]
        return cls(javas[0], jars[0]) if javas and jars and jars[0].is_file() else None

    def create(self, base: Path, statements: str) -> None:
        """Create the database of a node below ``base``, as in ``/opt/corda``."""
        (base / "lib").mkdir(parents=True)
        (base / "persistence").mkdir()
        (base / "lib" / f"h2-{self.jar.stem.removeprefix('h2-')}.jar").symlink_to(self.jar)
        script = base / "create.sql"
        script.write_text(statements, encoding="utf-8")
        self.run("org.h2.tools.RunScript", base / "persistence" / "persistence", script)

    def run(self, tool: str, file: Path, script: Path) -> None:
        url = f"jdbc:h2:file:{file}"
        login = ["-url", url, "-user", "sa", "-password", ""]
        command = [str(self.java), "-cp", str(self.jar), tool, *login, "-script", str(script)]
        subprocess.run(command, check=True, capture_output=True)

    def environment(self) -> Mapping[str, str]:
        """The environment in which ``java`` is this one."""
        return {**os.environ, "PATH": f"{self.java.parent}:{os.environ['PATH']}"}


class Postgres:
    """A PostgreSQL server of this test run, which listens on a socket only. It refuses to be run by root."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self.programs = programs
        self.folder = folder
        is_root = os.geteuid() == 0
        self.drop = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if is_root else []
        if is_root:
            shutil.chown(folder, "postgres")

    @classmethod
    def found(cls) -> Path | None:
        """The folder of its programs; None if it is not installed."""
        folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
        return folders[-1] if folders and (folders[-1] / "initdb").is_file() else None

    def start(self) -> None:
        self.call("initdb", "--username=lab", "--auth=trust", "--no-sync", self.folder / "data")
        options = f"-c listen_addresses='' -c unix_socket_directories={self.folder} -c fsync=off"
        self.call(
            *("pg_ctl", "--wait", "-D", self.folder / "data"), *("-o", options, "-l", self.folder / "log", "start")
        )
        self.call("createdb", "--host", self.folder, "--username=lab", "corda")

    def stop(self) -> None:
        self.call("pg_ctl", "--wait", "-m", "immediate", "-D", self.folder / "data", "stop")

    def call(self, program: str, *arguments: object, statements: str = "") -> None:
        command = [*self.drop, str(self.programs / program), *map(str, arguments)]
        # The server would keep pipes open.
        with (self.folder / "calls").open("a+") as log:
            done = subprocess.run(command, input=statements, text=True, stdout=log, stderr=log, check=False, cwd="/")
            log.seek(0)
            assert done.returncode == 0, log.read()[-2000:]

    def execute(self, statements: str) -> None:
        where = ("--host", self.folder, "--username=lab", "--dbname=corda")
        self.call("psql", *where, "--quiet", "--set=ON_ERROR_STOP=1", statements=statements)

    def environment(self) -> Mapping[str, str]:
        """The environment in which psql finds this server."""
        return {**os.environ, "PATH": f"{self.programs}:{os.environ['PATH']}", "PGHOST": str(self.folder)}
