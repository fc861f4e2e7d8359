"""A real Locust master and real workers, each a process of its own."""

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab_workload.load import Load
from locust_process import LocustProcess, start_locust
from testkit import (
    PAY,
    Locust,
    StubBridge,
    free_port,
    paid,
    problem,
    success,
    wait_until,
)

LOAD = ("--run-time", "4s", "--stop-timeout", "10", "--pacing", "0.1", "--users", "5")


class Cluster:
    """A master, which is ``locust``, and workers that share its folders."""

    def __init__(self, locust: Locust, folder: Path) -> None:
        self._locust = locust
        self._port = str(free_port())
        self._folder = folder
        self.workers: list[LocustProcess] = []
        self.environments: dict[int, dict[str, str]] = {}
        """What the environment of a worker has beside that of its master, by its number."""

    def start(self, *arguments: str, workers: int = 2, **settings: object) -> None:
        master = ("--master", "--master-bind-port", self._port, "--expect-workers", str(workers))
        self._locust.start_headless(*master, *arguments, **settings)
        for number in range(1, workers + 1):
            self.start_worker(number)

    def start_web(self, workers: int = 2) -> None:
        self._locust.start_web("--master", "--master-bind-port", self._port)
        for number in range(1, workers + 1):
            self.start_worker(number)

    def start_worker(self, number: int, *arguments: str) -> None:
        environment = {**self._locust.environment, "LAB_METRICS_PORT": str(free_port())}
        environment |= self.environments.get(number, {})
        log = self._folder / f"worker-{number}.log"
        worker = start_locust(self._folder, environment, log, "--worker", "--master-port", self._port, *arguments)
        self.workers.append(worker)

    def logs(self) -> str:
        return "\n".join(path.read_text() for path in sorted(self._folder.glob("worker-*.log")))

    def close(self) -> None:
        for worker in self.workers:
            worker.kill()
            worker.wait(timeout=10)


@pytest.fixture
def cluster(locust: Locust, tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(locust, tmp_path)
    yield made
    made.close()


def all_rows(locust: Locust, workers: int = 2) -> list[dict[str, Any]]:
    return [row for index in range(1, workers + 1) for row in locust.rows(f"test.{index}")]


def test_every_worker_spreads_its_users_over_the_nodes(locust: Locust, bridge: StubBridge, cluster: Cluster) -> None:
    locust.workload(PAY)
    cluster.start(*LOAD, "--counterparty", "PartyC", "--users", "4", nodes="PartyA,PartyB")

    status, output = locust.finish(60)

    assert status == 0, output + cluster.logs()
    served = {(row["worker"], row["node"]) for row in all_rows(locust)}
    assert served == {(worker, node) for worker in (1, 2) for node in ("PartyA", "PartyB")}
    assert len(paid(bridge)) == len(set(paid(bridge))), "no coin is taken twice"


def test_workers_share_users_requests_and_prepared_items(locust: Locust, bridge: StubBridge, cluster: Cluster) -> None:
    locust.workload(PAY)
    cluster.start(*LOAD)

    status, output = locust.finish(60)

    assert status == 0, output + cluster.logs()
    rows, end = all_rows(locust), locust.whole_end()
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
    cluster.start("--arrivals", "constant", "--rate", "20", "--users", "8", *LOAD[:4], late_max=60)

    status, output = locust.finish(60)

    assert status == 0, output + cluster.logs()
    rows, end = all_rows(locust), locust.whole_end()
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
    assert re.search(r"Run test failed: worker [12] was lost", output)
    assert locust.end() is None, "there is no end without every worker's rows"


def test_a_worker_whose_template_fails_fails_the_run(locust: Locust, bridge: StubBridge, cluster: Cluster) -> None:
    locust.workload(PAY.replace("rate_max: 1000", "rate_max: 1"))
    cluster.start("--run-time", "60s", "--stop-timeout", "5", rate_max=1)

    status, output = locust.finish(60)

    assert status == 1, output
    assert "Run test failed: a worker: " in output
    assert "increase rate_max" in output
    end = locust.whole_end()
    assert end["exit_reason"] == "failed"
    assert end["requests"] == len(all_rows(locust))


def test_an_interrupted_master_ends_its_workers_in_order(locust: Locust, bridge: StubBridge, cluster: Cluster) -> None:
    cluster.start("--run-time", "60s", "--stop-timeout", "20", "--pacing", "0.1")
    wait_until(lambda: len(all_rows(locust)) > 5, "both workers write rows", 40)

    assert locust.process is not None
    locust.process.send_signal(signal.SIGINT)
    status, output = locust.finish(60)

    assert status == 130, output + cluster.logs()
    rows, end = all_rows(locust), locust.whole_end()
    assert (end["exit_reason"], end["requests"]) == ("interrupted", len(rows))
    assert sorted(row["client_id"] for row in rows) == sorted(start["clientId"] for _, start in bridge.starts)
    assert [worker.wait(20) for worker in cluster.workers] == [0, 0]


@pytest.mark.parametrize("fails", [{1, 2}, {1}])
def test_a_run_ends_when_every_request_of_every_worker_fails_in_the_same_way(
    locust: Locust, bridge: StubBridge, cluster: Cluster, fails: set[int]
) -> None:
    def reply(start: dict[str, Any]) -> Any:
        number = int(start["clientId"].rpartition("-")[2])
        worker = 2 - number % 2  # requests are dealt out in turn
        return problem(400, "invalid-argument", f"args.iouValue is {number}") if worker in fails else success(start)

    bridge.reply = reply
    cluster.start("--users", "20", "--run-time", "14s", "--stop-timeout", "5", "--pacing", "0.2")
    status, output = locust.finish(60)

    assert status == 0, output + cluster.logs()
    end = locust.whole_end()
    assert end["exit_reason"] == ("all_failed" if fails == {1, 2} else "completed")
    assert {row["worker"] for row in all_rows(locust) if row["outcome"] == "failed"} == fails
    assert [worker.wait(20) for worker in cluster.workers] == [0, 0]


def test_a_master_s_web_ui_runs_its_workers(locust: Locust, bridge: StubBridge, cluster: Cluster) -> None:
    cluster.start_web()
    form = {"workload": "iou", "node": "", "counterparty": "", "arrivals": "closed", "rate": "0", "pacing": "0.1"}
    wait_until(lambda: json.loads(locust.get("/worker-count"))["worker_count"] == 2, "both workers are there", 40)

    assert locust.post("/swarm", user_count=4, spawn_rate=100, **form)["success"]
    wait_until(lambda: len(bridge.starts) > 10, "requests arrive")
    locust.post("/stop")

    [run_id] = locust.ended()
    end = locust.whole_end(run_id)
    assert (end["users"], end["exit_reason"]) == (4, "stopped")
    assert end["requests"] == sum(len(locust.rows(f"{run_id}.{index}")) for index in (1, 2)) == len(bridge.starts)


def test_workers_need_nothing_but_their_master(
    locust: Locust, bridge: StubBridge, cluster: Cluster, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    cluster.environments = {1: {"LAB_WORKLOADS_DIR": str(other)}, 2: {"LAB_WORKLOADS_DIR": str(other)}}
    load = Load(workload="iou", users=4, workers=2, warm_up_seconds=1, duration_seconds=2, pacing_seconds=0.1)
    cluster.start("--plan", str(locust.plan(load, 3.0)))

    status, output = locust.finish(60)

    assert status == 0, output + cluster.logs()
    assert len(all_rows(locust)) == len(bridge.starts) > 10


def test_a_worker_that_joins_in_the_midst_of_a_run_fails_it(locust: Locust, cluster: Cluster) -> None:
    cluster.start("--run-time", "60s", "--stop-timeout", "5", "--pacing", "0.1")
    wait_until(lambda: len(all_rows(locust)) > 5, "both workers write rows", 40)

    cluster.start_worker(3)
    status, output = locust.finish(60)

    assert status == 1, output
    assert "Run test failed: a worker joined during the run" in output
    end = locust.whole_end()
    assert (end["exit_reason"], end["requests"]) == ("failed", len(all_rows(locust)))
