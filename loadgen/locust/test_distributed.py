"""A real Locust master and real workers, each a process of its own."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testkit import HERE, PAY, Locust, StubBridge, free_port, paid, wait_until

LOAD = ("--run-time", "4s", "--stop-timeout", "10", "--pacing", "0.1", "--users", "5")


class Cluster:
    """A master, which is ``locust``, and workers that share its folders."""

    def __init__(self, locust: Locust, folder: Path) -> None:
        self._locust = locust
        self._port = str(free_port())
        self._folder = folder
        self.workers: list[subprocess.Popen[bytes]] = []

    def start(self, *arguments: str, workers: int = 2) -> None:
        master = ("--master", "--master-bind-port", self._port, "--expect-workers", str(workers))
        self._locust.start_headless(*master, *arguments)
        for number in range(1, workers + 1):
            self.start_worker(number)

    def start_worker(self, number: int, *arguments: str) -> None:
        command = [str(Path(sys.executable).with_name("locust")), "-f", str(HERE / "locustfile.py"), "--worker"]
        environment = {**self._locust.environment, "LAB_METRICS_PORT": str(free_port())}
        with (self._folder / f"worker-{number}.log").open("wb") as log:
            worker = subprocess.Popen(
                [*command, "--master-port", self._port, *arguments],
                cwd=self._folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.workers.append(worker)

    def logs(self) -> str:
        return "\n".join(path.read_text() for path in sorted(self._folder.glob("worker-*.log")))

    def close(self) -> None:
        for worker in self.workers:
            worker.kill()
            worker.wait()


@pytest.fixture
def cluster(locust: Locust, tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(locust, tmp_path)
    yield made
    made.close()


def all_rows(locust: Locust, workers: int = 2) -> list[dict[str, Any]]:
    return [row for index in range(1, workers + 1) for row in locust.rows(f"test.{index}")]


def test_workers_share_users_requests_and_prepared_items(locust: Locust, bridge: StubBridge, cluster: Cluster) -> None:
    locust.workload(PAY)
    cluster.start(*LOAD)

    status, output = locust.finish(60)

    assert status == 0, output + cluster.logs()
    rows, end = all_rows(locust), locust.end()
    assert end is not None
    assert locust.files() == ["test.1.ndjson", "test.2.ndjson", "test.end.json"]
    assert len({row["request_id"] for row in rows}) == len({row["client_id"] for row in rows}) == len(rows)
    assert len({row["user_id"] for row in rows}) == 5
    assert {row["worker"] for row in rows} == {1, 2}
    assert sorted(row["client_id"] for row in rows) == sorted(
        start["clientId"] for _, start in bridge.starts if start["flow"].endswith("Pay")
    )
    assert len(set(paid(bridge))) == len(rows), "no item is taken by two workers"
    prepared = [start for _, start in bridge.starts if start["flow"].endswith("CashPrepare")]
    assert len(prepared) == 1, "the set-up is the master's alone"
    assert (end["requests"], end["users"], end["exit_reason"]) == (len(rows), 5, "completed")
    assert end["rows"] == {str(index): len(locust.rows(f"test.{index}")) for index in (1, 2)}
    assert [worker["index"] for worker in end["workers"]] == [1, 2]
    assert all(worker["cpu_percent_max"] > 0 for worker in end["workers"])
    assert end["started_at"] <= end["spawned_at"] <= end["stop_at"] <= end["ended_at"]
    assert [worker.wait(20) for worker in cluster.workers] == [0, 0]
    assert "Traceback" not in output + cluster.logs()


def test_workers_share_the_rate_of_open_load(locust: Locust, cluster: Cluster) -> None:
    cluster.start("--arrivals", "constant", "--rate", "20", "--late-max", "60", "--users", "8", *LOAD[:4])

    status, output = locust.finish(60)

    assert status == 0, output + cluster.logs()
    rows, end = all_rows(locust), locust.end()
    assert end is not None
    assert (end["model"], end["rate"], end["offered"]) == ("constant", 20, len(rows))
    assert 40 < len(rows) < 100
    for index in (1, 2):
        intended = sorted(row["intended_at"] for row in locust.rows(f"test.{index}"))
        assert intended[1] - intended[0] == pytest.approx(0.1, abs=2e-6)


def test_a_worker_that_is_lost_fails_the_run(locust: Locust, cluster: Cluster) -> None:
    cluster.start("--run-time", "60s", "--stop-timeout", "5")
    wait_until(lambda: len(all_rows(locust)) > 5, "both workers write rows", 40)

    cluster.workers[0].send_signal(signal.SIGKILL)
    status, output = locust.finish(60)

    assert status == 1, output
    assert re.search(r"Run test failed: worker [12] is gone", output)
    assert locust.end() is None, "there is no end without every worker's rows"


def test_a_worker_whose_template_fails_fails_the_run(locust: Locust, bridge: StubBridge, cluster: Cluster) -> None:
    locust.workload(PAY.replace("rate_max: 1000", "rate_max: 1"))
    cluster.start("--run-time", "60s", "--stop-timeout", "5", "--set", "rate_max=1")

    status, output = locust.finish(60)

    assert status == 1, output
    assert "Run test failed: a worker: " in output
    assert "raise rate_max" in output
    end = locust.end()
    assert end is not None
    assert end["exit_reason"] == "failed"
    assert end["requests"] == len(all_rows(locust))


def test_an_interrupted_master_ends_its_workers_in_order(locust: Locust, bridge: StubBridge, cluster: Cluster) -> None:
    cluster.start("--run-time", "60s", "--stop-timeout", "20", "--pacing", "0.1")
    wait_until(lambda: len(all_rows(locust)) > 5, "both workers write rows", 40)

    assert locust.process is not None
    locust.process.send_signal(signal.SIGINT)
    status, output = locust.finish(60)

    assert status == 130, output + cluster.logs()
    rows, end = all_rows(locust), locust.end()
    assert end is not None
    assert (end["exit_reason"], end["requests"]) == ("interrupted", len(rows))
    assert sorted(row["client_id"] for row in rows) == sorted(start["clientId"] for _, start in bridge.starts)
    assert [worker.wait(20) for worker in cluster.workers] == [0, 0]


def test_a_master_holds_before_its_workers_start(locust: Locust, bridge: StubBridge, cluster: Cluster) -> None:
    locust.workload(PAY)
    cluster.start(*LOAD, "--hold")
    ready = locust.rows_folder / "test.ready.json"
    wait_until(ready.exists, "the set-up is done", 40)

    assert json.loads(ready.read_text())["setup"][0]["name"] == "coins"
    assert paid(bridge) == []
    (locust.rows_folder / "test.go").touch()
    status, output = locust.finish(60)

    assert status == 0, output + cluster.logs()
    assert len(paid(bridge)) == len(all_rows(locust)) > 5
