"""Measures the lab beside what people would use instead: a direct RPC client, and Apache JMeter.

    ./scripts/lab up && ./scripts/lab run iou --users 20 --condition
    export PYTHONPATH=scripts:loadgen/locust
    .venv/bin/python tests/evidence/peers.py --workload iou --users 1,20,100 --rounds 5
    .venv/bin/python tests/evidence/peers.py --show

All peers start the same flow on the same node, and keep the same number of flows in flight. They take turns, and the
order rotates, so each is first, second and third equally often. Ratios are paired by round. ``docs/performance.md`` has
the results. For other numbers of RPC connections, start the lab and this script with ``BRIDGE_RPC_CONNECTIONS``.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from corda_lab.errors import LabError
from corda_lab.lab import lifecycle
from corda_lab.lab.compose import Compose
from corda_lab.lab.lab import RUN_LABEL, Lab
from corda_lab.paths import RESULTS
from corda_lab.results import stored as runs
from corda_lab.steps import rows
from measured import (
    NODE,
    ROOT,
    Record,
    Usage,
    await_rest,
    circumstances,
    docker,
    in_words,
    print_table,
    ratio,
    running_lab,
    store,
    stored,
)

PEERS = ("direct", "jmeter", "lab")
NAMES = {"direct": "direct RPC client", "jmeter": "JMeter", "lab": "Locust + bridge"}
PARTY_B = "O=PartyB, L=New York, C=US"
PAYMENT = {"otherPartyName": PARTY_B, "useCoinSelection": False, "anonymousIdentities": False}
FLOWS: dict[str, tuple[str, Record]] = {
    "empty": ("org.cordalab.flows.Empty", {}),
    "iou": ("org.cordalab.flows.Iou", {"iouValue": 18, "otherParty": PARTY_B}),
    "cash-issue-and-pay": ("org.cordalab.flows.CashIssueAndPay", {"amount": "138 GBP", **PAYMENT}),
}
"""The flows by workload, with the arguments of the direct client and of JMeter. The lab renders those of each flow."""

DIRECT = "org.cordalab.bridge.bench.DirectRpcBenchmark"
JMETER_RESULTS = "/var/lib/corda-lab/jmeter/flows.jtl"


def order_of(turn: int, peers: tuple[str, ...]) -> tuple[str, ...]:
    """Return the peers in the order of a turn. Each has every place equally often."""
    first = turn % len(peers)
    return (*peers[first:], *peers[:first])


@contextmanager
def container(lab: Lab, name: str, *arguments: str) -> Iterator[str]:
    """Start a container of a service in the background, and remove it after the block."""
    full = f"{lab.project}-{name}"
    try:
        options = ("--detach", "--no-deps", "--label", f"{RUN_LABEL}={name}", "--name", full)
        Compose(lab.settings).run("run", *options, *arguments)
        yield full
    finally:
        subprocess.run(["docker", "rm", "--force", "--volumes", full], capture_output=True, check=False)


def last_words(name: str) -> str:
    """Return why a container has ended, as far as Docker and its log tell."""
    killed = docker("container", "inspect", "--format", "{{.State.OOMKilled}}", name).strip() == "true"
    logs = subprocess.run(["docker", "logs", "--tail", "3", name], capture_output=True, text=True, check=False)
    return "it used more memory than its container may have" if killed else (logs.stdout + logs.stderr).strip()


def direct(lab: Lab, asked: Record) -> Record:
    """The bridge's RPC client without bridge and Locust. It computes its own values, and prints them as JSON."""
    flow, arguments = FLOWS[asked["workload"]]
    times = ("--warm-up", str(asked["warm_up_seconds"]), "--duration", str(asked["duration_seconds"]))
    load = ("--in-flight", str(asked["users"]), *times)
    what = ("--node", NODE, "--flow", flow, "--args", json.dumps(arguments))
    with container(lab, "direct", "--entrypoint", "/opt/corda-lab/run-java", "bridge", DIRECT, *what, *load) as name:
        usage = Usage([name])
        docker("wait", name)
        usage.stop()
        try:
            said = json.loads(docker("logs", name).strip().splitlines()[-1])
        except (IndexError, ValueError):
            raise LabError(f"it printed no result: {last_words(name)}") from None
    seconds = said["window_seconds"]
    cpu, memory = usage.within(said["window_started_at"], said["window_started_at"] + seconds)
    return {
        "window_started_at": said["window_started_at"],
        "window_seconds": seconds,
        "flows": round(said["flows_per_second"] * seconds),
        "flows_per_second": said["flows_per_second"],
        "latency": {f"{key}_ms": value for key, value in said["latency_ms"].items()},
        "cpu_seconds": cpu,
        "memory_bytes_max": memory,
        "problem": f"{said['failed']} flows failed: {said['first_error']}" if said["failed"] else None,
    }


def jmeter(lab: Lab, asked: Record) -> Record:
    """JMeter, with the results file that its own listener writes. It opens all connections before the load."""
    flow, arguments = FLOWS[asked["workload"]]
    seconds = asked["warm_up_seconds"] + asked["duration_seconds"]
    properties = {"users": asked["users"], "seconds": seconds, "node": NODE, "flow": flow}
    words = [f"-J{key}={value}" for key, value in (properties | {"arguments": json.dumps(arguments)}).items()]
    with (
        tempfile.TemporaryDirectory(prefix="corda-lab-peers-") as scratch,
        container(lab, "jmeter", "jmeter", JMETER_RESULTS, *words) as name,
    ):
        usage = Usage([name])
        status = docker("wait", name).strip()
        usage.stop()
        if status != "0":
            raise LabError(f"it ended with status {status}: {last_words(name)}")
        docker("cp", f"{name}:{JMETER_RESULTS}", scratch)
        return jmeter_values(pl.read_csv(Path(scratch) / "flows.jtl", infer_schema_length=None), asked, usage)


def jmeter_values(samples: pl.DataFrame, asked: Record, usage: Usage) -> Record:
    """Return the values of JMeter's results file. Times are in whole milliseconds. Raises LabError."""
    refused = samples.filter((pl.col("label") == "connect") & ~pl.col("success"))
    flows = samples.filter(pl.col("label") == "flow")
    if refused.height or not flows.height:
        raise LabError(f"it started no flow: {refused['responseMessage'].to_list()[:1]}")
    started_at = flows["timeStamp"].cast(pl.Float64).min()
    assert isinstance(started_at, float)
    window_at = started_at / 1000 + asked["warm_up_seconds"]
    ended = (pl.col("timeStamp") + pl.col("elapsed")) / 1000
    inside = ended.is_between(window_at, window_at + asked["duration_seconds"])
    took = flows.filter(pl.col("success") & inside)["elapsed"].cast(pl.Float64)
    failed = flows.filter(~pl.col("success"))["responseMessage"].to_list()
    cpu, memory = usage.within(window_at, window_at + asked["duration_seconds"])
    quantiles = {f"p{share:g}_ms": rows.nearest_rank(took, share / 100) for share in (50, 95, 99) if len(took)}
    return {
        "window_started_at": window_at,
        "window_seconds": float(asked["duration_seconds"]),
        "flows": len(took),
        "flows_per_second": len(took) / asked["duration_seconds"],
        "latency": {"mean_ms": took.mean(), **quantiles, "max_ms": took.max()},
        "cpu_seconds": cpu,
        "memory_bytes_max": memory,
        "problem": f"{len(failed)} flows failed: {failed[0]}" if failed else None,
    }


def measured_run(asked: Record) -> Record:
    """Locust and the bridge, by ``lab run``. Memory is the largest of the load container plus that of the bridge."""
    before = set(RESULTS.glob("*-peer"))
    times = ("--warm-up", f"{asked['warm_up_seconds']}s", "--duration", f"{asked['duration_seconds']}s")
    command = (str(ROOT / "scripts" / "lab"), "run", asked["workload"], "--users", str(asked["users"]), *times)
    done = subprocess.run([*command, "--name", "peer"], capture_output=True, text=True, check=False)
    found = sorted(set(RESULTS.glob("*-peer")) - before)
    if not found:
        raise LabError(f"the run left no result: {(done.stdout + done.stderr)[-300:]}")
    step = runs.read(found[0]).steps[0]
    latency, seconds = step.latency_ms, step.window.seconds
    shares, bytes_max = step.by_part("cpu_percent"), step.by_part("resident_max_bytes")
    parts = ("locust", "bridge")
    cpu = {part: shares[part] / 100 * seconds for part in parts if part in shares}
    memory = {part: bytes_max[part] for part in parts if part in bytes_max}
    failed = step.requests.failed + step.requests.unknown
    return {
        "window_started_at": step.window.started_at,
        "window_seconds": seconds,
        "flows": step.requests.window_ok,
        "flows_per_second": step.throughput_per_second,
        "latency": {f"{name}_ms": latency.quantile(name) for name in ("mean", "p50", "p95", "p99", "max")},
        "cpu_seconds": sum(cpu.values()) if len(cpu) == 2 else None,
        "memory_bytes_max": sum(memory.values()) if len(memory) == 2 else None,
        "bridge_cpu_seconds": cpu.get("bridge"),
        "bridge_memory_bytes_max": memory.get("bridge"),
        "problem": f"{failed} flows failed or had an unknown outcome" if failed else None,
    }


def measure(peer: str, lab: Lab, asked: Record) -> Record:
    """Measure a peer. If it fails, which is a result too, the measurement says why."""
    nodes = {name.lower() for name in lab.settings.nodes}
    usage = Usage([service.container.name for service in lab.services() if service.name in nodes])
    begun = asked | {"peer": peer}
    try:
        found = measured_run(asked) if peer == "lab" else {"direct": direct, "jmeter": jmeter}[peer](lab, asked)
    except LabError as error:
        return begun | {"problem": error.message}
    finally:
        usage.stop()
    started_at = found["window_started_at"]
    return begun | found | {"nodes_cpu_seconds": usage.within(started_at, started_at + found["window_seconds"])[0]}


def run(workload: str, users: list[int], rounds: int, times: tuple[int, int], peers: tuple[str, ...]) -> None:
    """Measure the peers in turns, and store every measurement. Raises LabError."""
    lab = running_lab()
    admitted = lab.bridge.outstanding_max(NODE)
    if max(users) > admitted:
        raise LabError(
            f"--users: the bridge admits {admitted} flows in flight",
            f"Start it with BRIDGE_MAX_OUTSTANDING_FLOWS={max(users)}.",
        )
    if "jmeter" in peers:
        lifecycle.build(lab.settings, "jmeter")
    common = circumstances(lab, "peers") | {
        "workload": workload,
        "warm_up_seconds": times[0],
        "duration_seconds": times[1],
        "connections": int(lab.settings["BRIDGE_RPC_CONNECTIONS"]),
    }
    for number in range(1, rounds + 1):
        for place, count in enumerate(users):
            for peer in order_of(number + place, peers):
                await_rest(lab)
                found = measure(peer, lab, common | {"users": count, "round": number})
                store("peers", found)
                said = found["problem"] or f"{found['flows_per_second']:.2f} flows/s"
                print(f"round {number}, {NAMES[peer]}, {count} in flight: {said}", flush=True)


def per_flow(field: str) -> Callable[[Record], float | None]:
    """Return CPU time in milliseconds per flow; None where it is unknown."""
    return lambda one: 1000 * one[field] / one["flows"] if one.get(field) else None


VALUES: dict[str, Callable[[Record], float | None]] = {
    "flows/s": lambda one: one["flows_per_second"],
    "p50 ms": lambda one: one["latency"]["p50_ms"],
    "p99 ms": lambda one: one["latency"]["p99_ms"],
    "CPU ms per flow": per_flow("cpu_seconds"),
    "of this, the bridge": per_flow("bridge_cpu_seconds"),
    "nodes' CPU ms per flow": per_flow("nodes_cpu_seconds"),
    "memory MB": lambda one: one["memory_bytes_max"] and one["memory_bytes_max"] / 1e6,
    "MB per 1,000 flows": lambda one: one["memory_bytes_max"] and one["memory_bytes_max"] / 1e3 / one["flows"],
}


def by_round(found: list[Record], peer: str, value: Callable[[Record], float | None]) -> dict[int, float]:
    """Return a value of a peer by round. Measurements that failed have none."""
    values = {one["round"]: value(one) for one in found if one["peer"] == peer and not one["problem"]}
    return {number: known for number, known in values.items() if known}


def show(found: list[Record]) -> None:
    """Print the means of all measurements of one load, and the ratios of the lab to its peers."""
    peers = [peer for peer in PEERS if any(one["peer"] == peer for one in found)]
    table = []
    for peer in peers:
        means = [by_round(found, peer, value).values() for value in VALUES.values()]
        table.append([NAMES[peer], *(f"{statistics.fmean(each):.2f}" if each else "–" for each in means)])
    for peer in (each for each in peers if each != "lab"):
        ratios = (ratio(by_round(found, peer, value), by_round(found, "lab", value)) for value in VALUES.values())
        table.append([f"lab ÷ {NAMES[peer]}", *map(in_words, ratios)])
    print_table(["", *VALUES], table)


def show_all() -> None:
    """Print the stored measurements, load by load."""
    loads: dict[str, list[Record]] = {}
    for one in stored("peers"):
        about = f"{one['id']}, commit {one['commit']}: {one['workload']}, {one['users']} in flight"
        loads.setdefault(f"{about}, RPC connections: {one['connections']}", []).append(one)
    for title, found in loads.items():
        print(f"\n{title}\n")
        show(found)


def main() -> None:
    """Read the command line, and measure or show."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--show", action="store_true", help="print the stored results, and measure nothing")
    parser.add_argument("--workload", choices=FLOWS, default="iou")
    parser.add_argument("--users", default="1,20,100", help="numbers of flows in flight")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--warm-up", type=int, default=10, help="seconds")
    parser.add_argument("--duration", type=int, default=30, help="seconds; at least five times the latency")
    parser.add_argument("--peers", default=",".join(PEERS))
    asked = parser.parse_args()
    if asked.show:
        show_all()
        return
    peers = tuple(peer for peer in PEERS if peer in asked.peers.split(","))
    users = [int(word) for word in asked.users.split(",")]
    try:
        run(asked.workload, users, asked.rounds, (asked.warm_up, asked.duration), peers)
    except LabError as error:
        sys.exit(f"{error.message}. {error.remedy}")


if __name__ == "__main__":
    main()
