"""Databases as nodes make them, for tests: real H2 files and a real PostgreSQL, by the programs of the lab's images."""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

COMMAND_SECONDS_MAX = 120
START_SECONDS_MAX = 60
CONTAINER_SECONDS_MAX = 1800
WRAPPER = """\
#!/bin/sh
case $PWD/ in {folder}/*) at=$PWD ;; *) at=/ ;; esac
exec docker exec -i --env=PGHOST --workdir="$at" {container} {program} "$@"
"""

TABLES = """\
create table node_info_party_cert (party_name varchar(255), owning_key_hash varchar(255));
create table node_our_key_pairs (public_key_hash varchar(255));
create table node_transactions (tx_id varchar(144) primary key, transaction_value {bytes},
  state_machine_run_id varchar(36), status varchar(1), timestamp timestamp);
create table vault_states (output_index int, transaction_id varchar(144), contract_state_class_name varchar(255),
  state_status int, recorded_timestamp timestamp, consumed_timestamp timestamp, relevancy_status int default 0,
  primary key (output_index, transaction_id));
create table node_checkpoints (flow_id varchar(64), status int);
create table node_flow_metadata (flow_id varchar(128), flow_name varchar(128), flow_identifier varchar(512));
create table state_party (output_index int, transaction_id varchar(144), public_key_hash varchar(255),
  x500_name varchar(255));
create table node_notary_committed_states (output_index int, transaction_id varchar(144), consuming_transaction_id
  varchar(144));
create table node_notary_committed_txs (transaction_id varchar(144));
create table node_notary_request_log (id varchar(76), consuming_transaction_id varchar(144),
  request_timestamp timestamp);
"""
"""The tables of a node, with the columns that matter."""


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


class Program:
    """A container without network, one program of which tests run as if it were installed here.

    It sees ``folder`` under the same path. Its user is that of the tests unless ``options`` name another.
    """

    def __init__(self, image: str, folder: Path, program: str, *options: str, command: Sequence[str]) -> None:
        self.folder = folder
        self.program = program
        user = f"--user={os.geteuid()}:{os.getegid()}"
        shared = ("--rm", "--network=none", "--label=org.cordalab.test", f"--volume={folder}:{folder}")
        self.name = output("docker", "run", "--detach", *shared, user, *options, image, *command)
        self.bin = folder / f"{program}-bin"
        self.bin.mkdir()
        wrapper = self.bin / program
        wrapper.write_text(WRAPPER.format(folder=folder, container=self.name, program=program), encoding="utf-8")
        wrapper.chmod(0o755)

    def remove(self) -> None:
        subprocess.run(["docker", "rm", "--force", "--volumes", self.name], check=True, capture_output=True)

    def environment(self) -> dict[str, str]:
        """The environment in which a command finds the program, and leaves its files where the container sees them."""
        return {**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}", "TMPDIR": str(self.folder)}


def output(*command: str) -> str:
    """What a command prints. Fails if it does."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=COMMAND_SECONDS_MAX)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


class H2:
    """The H2 and the Java of a node's image."""

    def __init__(self, image: str, folder: Path) -> None:
        self.java = Program(image, folder, "java", "--entrypoint=sleep", command=[str(CONTAINER_SECONDS_MAX)])
        jar = output("docker", "exec", self.java.name, "sh", "-c", "ls /opt/corda/lib/h2-*.jar")
        self.jar = folder / Path(jar).name
        output("docker", "cp", f"{self.java.name}:{jar}", str(self.jar))

    def create(self, base: Path, statements: str) -> None:
        """Create the database of a node below ``base``, as in ``/opt/corda``."""
        (base / "lib").mkdir(parents=True)
        (base / "persistence").mkdir()
        (base / "lib" / self.jar.name).symlink_to(self.jar)
        script = base / "create.sql"
        script.write_text(statements, encoding="utf-8")
        self.run_script(base / "persistence" / "persistence", script)

    def run_script(self, file: Path, script: Path) -> None:
        """Execute the statements of a script on a database."""
        login = ("-url", f"jdbc:h2:file:{file}", "-user", "sa", "-password", "")
        tool = ("java", "-cp", str(self.jar), "org.h2.tools.RunScript")
        output("docker", "exec", self.java.name, *tool, *login, "-script", str(script))


class Postgres:
    """A PostgreSQL server of this test run, on the lab's image. Nothing outside its container can connect to it."""

    def __init__(self, image: str, folder: Path) -> None:
        data = ("--user=999:999", "--env=POSTGRES_USER=lab", "--env=POSTGRES_DB=corda", "--env=POSTGRES_PASSWORD=test")
        self.psql = Program(image, folder, "psql", *data, command=["postgres", "-c", "fsync=off"])
        ready = "until pg_isready --quiet --host=127.0.0.1; do sleep 0.2; done"
        output("docker", "exec", self.psql.name, "timeout", str(START_SECONDS_MAX), "sh", "-c", ready)

    def execute(self, statements: str) -> None:
        where = ("--username=lab", "--dbname=corda", "--quiet", "--set=ON_ERROR_STOP=1")
        command = ("docker", "exec", "-i", self.psql.name, "psql", *where)
        done = subprocess.run(
            command, input=statements, text=True, capture_output=True, check=False, timeout=COMMAND_SECONDS_MAX
        )
        assert done.returncode == 0, done.stderr[-2000:]
