"""Measures one peer under one load: the direct RPC client, JMeter, or the lab's own Locust and bridge.

All three start the same flow on the same node, and keep the same number of flows in flight. The warm-up and the window
begin with the load, which begins when all connections are open. A flow belongs to the window if it returned in it.
"""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import polars as pl

from corda_lab.bench.job import BenchJob
from corda_lab.bench.latency import Latency, latency_of
from corda_lab.bench.peers import jmeter
from corda_lab.bench.peers.measurement import Measurement, Peer
from corda_lab.bench.usage import Readings, recorded
from corda_lab.errors import LabError
from corda_lab.host import interrupts
from corda_lab.host.processes import last_words
from corda_lab.lab.deployed import RUN_LABEL
from corda_lab.lab.engine import run_docker
from corda_lab.runs import containers, unknown
from corda_lab.runs.collect import collect
from corda_lab.steps import rows
from corda_lab.steps.build import measuring_window
from corda_lab.steps.plan import RunPlan
from corda_lab.steps.rows import Window

DIRECT_CLASS = "org.cordalab.bridge.bench.DirectRpcBenchmark"


def measure(peer: Peer, job: BenchJob, *, users: int, number: int) -> Measurement:
    """Measure a peer with ``users`` flows in flight. If something fails, the measurement says what.

    ``number`` is that of the round; it makes the names of the containers unique.
    """
    identity = f"{job.plan.identity}-{peer}-{users}-{number}"
    plan = replace(job.plan, identity=identity, options=replace(job.plan.options, users=users))
    begun = Measurement(peer=peer, users=users, round=number, window_seconds=plan.options.duration_seconds)
    measured = {"direct": _direct, "jmeter": _jmeter, "lab": _lab}[peer]
    try:
        return measured(replace(job, plan=plan), begun)
    except LabError as error:
        return begun.model_copy(update={"problem": error.message})


def _direct(job: BenchJob, begun: Measurement) -> Measurement:
    """The bridge's RPC client without bridge and Locust. It computes its own values, and prints them as JSON."""
    load = job.plan.options
    arguments = [
        *("bridge", DIRECT_CLASS),
        *("--node", job.plan.subject.node, "--flow", job.flow, "--args", json.dumps(job.arguments)),
        *("--in-flight", str(load.users)),
        *("--warm-up", str(int(load.warm_up_seconds)), "--duration", str(int(load.duration_seconds))),
    ]
    with _container(job, ["--entrypoint", "/opt/corda-lab/run-java"], arguments) as name:
        with recorded([name]) as readings:
            _await_end(job, name)
        done = run_docker(["logs", name])
    try:
        answer = json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        raise LabError(f"it printed no result: {last_words(done.stderr or done.stdout)}") from None
    window = Window(answer["window_started_at"], answer["window_started_at"] + answer["window_seconds"])
    flows = round(answer["flows_per_second"] * answer["window_seconds"])
    times = answer["latency_ms"]
    usage = readings.within(window)
    return begun.model_copy(
        update={
            "window_started_at": window.started_at,
            "flows": flows,
            "flows_per_second": flows / window.seconds,
            "latency": Latency(**{f"{key}_ms": value for key, value in times.items()}) if flows else None,
            "cpu_seconds": usage.cpu_seconds,
            "memory_bytes_max": usage.memory_bytes_max,
            "problem": _failures(answer["failed"], answer["first_error"]),
        }
    )


def _jmeter(job: BenchJob, begun: Measurement) -> Measurement:
    """JMeter, with the results file that its own listener writes."""
    load = job.plan.options
    properties = {
        "users": load.users,
        "seconds": int(load.total_seconds),
        "node": job.plan.subject.node,
        "flow": job.flow,
        "arguments": json.dumps(job.arguments),
    }
    arguments = [jmeter.SERVICE, jmeter.RESULTS_FILE, *(f"-J{name}={value}" for name, value in properties.items())]
    with tempfile.TemporaryDirectory(prefix="corda-lab-bench-") as scratch, _container(job, [], arguments) as name:
        with recorded([name]) as readings:
            code = _await_end(job, name)
        if code:
            raise LabError(f"it ended with status {code}: {_last_words_of(name)}")
        copied = run_docker(["cp", f"{name}:{jmeter.RESULTS_FILE}", scratch])
        if copied.returncode != 0:
            raise LabError(f"it wrote no results: {_last_words_of(name)}")
        results = jmeter.read_results(Path(scratch) / Path(jmeter.RESULTS_FILE).name)
    refused = jmeter.connect_error(results)
    if refused:
        raise LabError(f"a connection could not be opened: {refused}")
    flows = jmeter.flows(results)
    if flows.is_empty():
        raise LabError(f"it started no flow: {_last_words_of(name)}")
    began_at = flows.select((pl.col("ended_at") - pl.col("latency_ms") / 1000).min()).item()
    return _values(begun, flows, _window(began_at, job.plan), readings)


def _lab(job: BenchJob, begun: Measurement) -> Measurement:
    """Locust and the bridge, as in ``lab run``."""
    compose, plan = job.compose, job.plan
    bridge = next(service.container.name for service in compose.services() if service.name == "bridge")
    with (
        tempfile.TemporaryDirectory(prefix="corda-lab-bench-") as scratch,
        containers.load_containers(compose, plan) as names,
    ):
        containers.await_setup(compose, plan, names)
        with recorded([bridge, *names.names]) as readings, recorded([bridge]) as readings_of_bridge:
            containers.let_go(compose, plan)
            containers.generate_load(compose, plan, job.bridge, names)
        collected = collect(compose, plan, names, Path(scratch))
    unknown.forget(job.bridge, plan.subject.node, plan.identity)
    frame, end = collected.requests, collected.end
    # Percentiles are of the time from the start of the request, as the other peers measure it.
    flows = frame.select(
        pl.col("ended_at"),
        pl.col("latency_ms"),
        pl.when(rows.is_done()).then(None).otherwise(pl.col("error").fill_null("")).alias("error"),
    )
    window = measuring_window(end, plan.options.warm_up_seconds)
    of_bridge = readings_of_bridge.within(window)
    return _values(begun, flows, window, readings).model_copy(
        update={"bridge_cpu_seconds": of_bridge.cpu_seconds, "bridge_memory_bytes_max": of_bridge.memory_bytes_max}
    )


def _window(began_at: float, plan: RunPlan) -> Window:
    """Return the window of a load that began at this time."""
    started_at = began_at + plan.options.warm_up_seconds
    return Window(started_at, started_at + plan.options.duration_seconds)


def _values(begun: Measurement, flows: pl.DataFrame, window: Window, readings: Readings) -> Measurement:
    """Return the values of a window. ``flows`` has the columns ``ended_at``, ``latency_ms`` and ``error``."""
    done = rows.ended_within(flows.filter(pl.col("error").is_null()), window)
    usage = readings.within(window)
    failed = flows["error"].drop_nulls()
    return begun.model_copy(
        update={
            "window_started_at": window.started_at,
            "window_seconds": window.seconds,
            "flows": done.height,
            "flows_per_second": done.height / window.seconds,
            "latency": latency_of(done["latency_ms"]),
            "cpu_seconds": usage.cpu_seconds,
            "memory_bytes_max": usage.memory_bytes_max,
            "problem": _failures(len(failed), None if failed.is_empty() else str(failed[0])),
        }
    )


def _failures(count: int, first: str | None) -> str | None:
    return f"{count} flows failed, the first with: {first}" if count else None


@contextmanager
def _container(job: BenchJob, options: list[str], arguments: list[str]) -> Iterator[str]:
    """Start a container of a service in the background, and return its name. It is always removed after the block."""
    identity = job.plan.identity
    name = f"{job.compose.project}-{identity}"
    run = ["run", "--detach", "--no-deps", "--label", f"{RUN_LABEL}={identity}", "--name", name]
    try:
        # A killed client may leave a container that starts later.
        with interrupts.held_back():
            job.compose.run(*run, *options, *arguments)
        yield name
    finally:
        # A second Ctrl-C must not leave behind a container that still sends load.
        with interrupts.held_back():
            run_docker(["rm", "--force", "--volumes", name])


def _await_end(job: BenchJob, name: str) -> int:
    """Wait until a container has ended, and return its status. Raises LabError if it does not end in time."""
    limit = job.container_seconds_max
    try:
        done = run_docker(["wait", name], seconds_max=limit)
    except LabError:
        raise LabError(f"it did not end within {limit:.0f} s: {_last_words_of(name)}") from None
    if done.returncode != 0:
        raise LabError(f"its container was removed: {last_words(done.stderr)}")
    return int(done.stdout)


def _last_words_of(name: str) -> str:
    """Return the last lines of a container's log, or that the kernel has ended it for its memory."""
    done = run_docker(["container", "inspect", "--format", "{{.State.OOMKilled}}", name])
    if done.stdout.strip() == "true":
        return "it used more memory than its container may have"
    logs = run_docker(["logs", "--tail", "20", name])
    return last_words(logs.stdout + logs.stderr)
