"""One run: load on the lab for a while, then everything that was measured, kept in one folder of ``results/``."""

import json
import math
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import httpx
import polars as pl

from corda_lab import counts, host, lifecycle, manifest, report, results, rows, signals, ui
from corda_lab.bridge import START_REMEDY, Bridge, Node
from corda_lab.compose import Compose, last_lines, run_docker
from corda_lab.errors import LabError
from corda_lab.paths import WORKLOADS
from corda_lab.prometheus import SCRAPE_SECONDS, Prometheus
from corda_lab.rows import Window
from corda_lab.settings import NODES, Settings
from lab_load.names import canonical, did_you_mean
from lab_load.workload import Workload, WorkloadError, load_workload

ROWS_DIRECTORY = "/var/lib/corda-lab/rows"
USERS_MAX = 10_000
SPAWN_SECONDS_MAX = 5
LOAD_START_SECONDS_MAX = 60
RATE_SECONDS = 5
POLL_SECONDS = 3.0
"""How often a run looks how it goes: each look runs the Docker client, on the processors that are being measured."""


@dataclass(frozen=True)
class LoadOptions:
    """What a person asked for: the shape of the load, all times in seconds."""

    workload: str
    users: int
    duration_seconds: float
    warm_up_seconds: float
    pacing_seconds: float = 0.0
    node: str | None = None
    counterparty: str | None = None
    name: str | None = None
    seed: int = 1

    @property
    def total_seconds(self) -> int:
        """How long load is generated: the warm-up, then the time that is measured."""
        return int(self.warm_up_seconds + self.duration_seconds)

    @property
    def spawn_per_second(self) -> int:
        """Users that start per second: all within five seconds, or within the warm-up when that is shorter."""
        return math.ceil(self.users / max(1.0, min(SPAWN_SECONDS_MAX, self.warm_up_seconds)))


@dataclass(frozen=True)
class Plan:
    """A run whose every input has been checked."""

    identity: str
    options: LoadOptions
    workload: Workload
    subject: counts.Subject
    flow_timeout_seconds: int

    @property
    def locust_arguments(self) -> list[str]:
        """What follows the image's entrypoint in the load container."""
        load = self.options
        counterparty = ["--counterparty", self.subject.counterparty] if self.subject.counterparty else []
        return [
            "--headless",
            *("--users", str(load.users)),
            *("--spawn-rate", str(load.spawn_per_second)),
            *("--run-time", f"{load.total_seconds}s"),
            # Flows under way when the load stops are waited for: they count, at the nodes and so here.
            *("--stop-timeout", str(self.flow_timeout_seconds + 5)),
            *("--workload", self.workload.name),
            *("--node", self.subject.node),
            *counterparty,
            *("--pacing", f"{load.pacing_seconds:g}"),
            *("--run-id", self.identity),
            *("--seed", str(load.seed)),
        ]


@dataclass
class Timeline:
    """Readings of the host's processor time while the load ran: (unix seconds, reading)."""

    cpu: list[tuple[float, host.CpuTime]] = field(default_factory=list)

    def note(self) -> None:
        """Take a reading now."""
        reading = host.cpu_time()
        if reading is not None:
            self.cpu.append((time.time(), reading))

    def busy_percent(self, window: Window) -> float | None:
        """Share of the host's processors that was busy over the window."""
        within = [reading for at, reading in self.cpu if window.started_at <= at <= window.ended_at]
        return host.busy_percent(within[0], within[-1]) if len(within) > 1 else None


def check_options(options: LoadOptions) -> None:
    """What can be wrong with the numbers on the command line. Raises LabError."""
    if not 1 <= options.users <= USERS_MAX:
        raise LabError(f"--users: {options.users} is out of range", f"Give a number from 1 to {USERS_MAX}.")
    for option, seconds in (("--duration", options.duration_seconds), ("--warm-up", options.warm_up_seconds)):
        if seconds != int(seconds):
            raise LabError(
                f"{option}: {seconds:g}s is not a whole number of seconds", "Locust counts in whole seconds."
            )
    if not -(2**63) <= options.seed < 2**63:
        raise LabError(f"--seed: {options.seed} is out of range", "Give a whole number of at most 18 digits.")


def read_workload(options: LoadOptions) -> Workload:
    """The workload file, with all that is wrong with it told at once."""
    try:
        return load_workload(WORKLOADS, options.workload, NODES)
    except WorkloadError as error:
        message = "\n       ".join(error.problems)
        raise LabError(f"WORKLOAD: {message}", "Workloads are the files of configs/workloads/.") from None


def check_lab_is_up(compose: Compose, bridge: Bridge) -> None:
    """Every service of the lab has to be ready before load starts. Grafana may be left out."""
    services = {service.name: service for service in compose.services()}
    needed = [node.lower() for node in NODES] + ["bridge", "locust", "prometheus"]
    missing = [name for name in needed if name not in services or not services[name].is_ready]
    if missing:
        states = [f"{name} {services[name].condition if name in services else 'not started'}" for name in missing]
        is_down = not any(name in services for name in needed)
        raise LabError("The lab is not up" if is_down else f"The lab is not ready: {', '.join(states)}", START_REMEDY)
    if not bridge.is_ready():
        raise LabError("The lab is not ready: the bridge cannot reach every node", START_REMEDY)


def find_node(name: str, nodes: dict[str, Node], *, field_name: str) -> Node:
    """A node by its name, upper and lower case being the same. Raises LabError that names the option."""
    found = canonical(name, nodes)
    if found is None:
        hint = did_you_mean(name, nodes)
        raise LabError(f"{field_name}: unknown node {name!r}{hint}", f"The parties are {', '.join(nodes)}.")
    return nodes[found]


def resolve_subject(options: LoadOptions, workload: Workload, bridge: Bridge) -> counts.Subject:
    """Node, counterparty and flow as the network knows them. Raises LabError for what it does not know."""
    everyone = bridge.nodes()
    nodes = {name: node for name, node in everyone.items() if not node.is_notary}
    for option, name in (("--node", options.node), ("--counterparty", options.counterparty)):
        if name and canonical(name, nodes) is None and canonical(name, everyone):
            raise LabError(f"{option}: {name} is a notary", f"The parties are {', '.join(nodes)}.")
    node = find_node(options.node or workload.node, nodes, field_name="--node" if options.node else "node")
    wanted = options.counterparty or workload.counterparty
    counterparty = (
        find_node(wanted, nodes, field_name="--counterparty" if options.counterparty else "counterparty")
        if wanted
        else None
    )
    if counterparty == node:
        raise LabError(f"--counterparty: {node.name} is the node itself", "Choose two different nodes.")
    if counterparty is None and "counterparty" in workload.arguments.used_names:
        raise LabError(f"--counterparty: the workload {workload.name} needs one", "For example: --counterparty PartyB")
    flows = bridge.flows(node.name)
    flow = next((full for full, short in flows.items() if workload.flow in {full, short}), None)
    if flow is None:
        hint = did_you_mean(workload.flow, [*flows, *flows.values()])
        raise LabError(
            f"{workload.source.problem(('flow',), f'{node.name} has no flow {workload.flow!r}{hint}')}",
            f"Its flows are {', '.join(sorted(flows))}.",
        )
    return counts.Subject(
        node=node.name,
        counterparty=counterparty.name if counterparty else None,
        flow=flow,
        flow_short=flows[flow],
        state=workload.state,
    )


def web_ui_users(url: str) -> int:
    """Users that run in the Locust web UI now; 0 also where it does not answer, for then it drives no load."""
    try:
        return int(httpx.get(f"{url}/stats/requests", timeout=10.0, trust_env=False).json().get("user_count") or 0)
    except (httpx.HTTPError, ValueError):
        return 0


def check_no_other_load(compose: Compose, bridge: Bridge, locust_url: str) -> None:
    """A run counts what happens between two moments, so nothing else may happen between them."""
    others = compose.load_containers()
    if others:
        raise LabError(f"Another run is under way ({others[0]})", "Wait for its end, or stop it with `docker stop`.")
    users = web_ui_users(locust_url)
    busy = {node.name: node.outstanding_flows for node in bridge.nodes().values() if node.outstanding_flows}
    if users > 0:
        raise LabError(
            f"The Locust web UI is running {users} users",
            "Stop them there first: a run counts every flow of the lab.",
        )
    if busy:
        counted = ", ".join(f"{count} at {name}" for name, count in busy.items())
        raise LabError(f"Flows are outstanding: {counted}", "Wait until `scripts/lab status` shows none.")


def plan(options: LoadOptions, settings: Settings, compose: Compose, bridge: Bridge) -> Plan:
    """Check everything that can be checked before the load starts."""
    check_options(options)
    workload = read_workload(options)
    name = results.check_name(options.name or workload.name.lower().replace("_", "-"), option="--name")
    lifecycle.require_engine()
    check_lab_is_up(compose, bridge)
    subject = resolve_subject(options, workload, bridge)
    check_no_other_load(compose, bridge, settings.url("LOCUST_PORT"))
    if options.users > int(settings["BRIDGE_MAX_OUTSTANDING_FLOWS"]):
        ui.warn(f"more users than BRIDGE_MAX_OUTSTANDING_FLOWS={settings['BRIDGE_MAX_OUTSTANDING_FLOWS']}: expect 429")
    return Plan(results.run_id(name), options, workload, subject, int(settings["BRIDGE_FLOW_TIMEOUT_SECONDS"]))


@contextmanager
def load_container(compose: Compose, plan: Plan) -> Iterator[str]:
    """The container that generates the load. It and its files are gone after the block, however that ends."""
    container = f"{compose.project}-load-{plan.identity}"
    arguments = ["run", "--detach", "--no-deps", "--use-aliases", "--name", container, "locust", *plan.locust_arguments]
    ui.note(compose.shown(*arguments))
    try:
        # A client that is ended while it asks for a container may leave one that starts later.
        with signals.held_back():
            compose.run(*arguments)
        yield container
    finally:
        # Nor may a second Ctrl-C leave one behind that goes on sending load.
        with signals.held_back():
            run_docker(["rm", "--force", container])
            files = [f"{ROWS_DIRECTORY}/{plan.identity}.{suffix}" for suffix in ("ndjson", "end.json")]
            compose.run("exec", "-T", "locust", "rm", "-f", *files, check=False)


def container_exit_code(container: str) -> int | None:
    """Exit status of a container; None while it runs."""
    done = run_docker(["container", "inspect", "--format", "{{.State.Status}} {{.State.ExitCode}}", container])
    status, _, code = done.stdout.strip().partition(" ")
    if done.returncode != 0:
        raise LabError(f"The load container {container} is gone", "Was it removed by hand? Run again.", exit_code=1)
    return int(code) if status in {"exited", "dead"} else None


class LiveRate:
    """Completions and errors as the bridge counts them, for the line that shows how a run goes."""

    def __init__(self, bridge: Bridge, subject: counts.Subject) -> None:
        self._bridge = bridge
        self._subject = subject
        self._seen: deque[tuple[float, float]] = deque()
        self._first: tuple[float, float] | None = None

    def _read(self) -> tuple[float, float, float]:
        totals = {"bridge_flows_completed_total": 0.0, "bridge_flows_failed_total": 0.0, "bridge_flows_in_flight": 0.0}
        for sample in self._bridge.metrics():
            if sample.name in totals and sample.labels.get("node") == self._subject.node:
                totals[sample.name] += sample.value
            elif sample.name == "bridge_flows_rejected_total":
                totals["bridge_flows_failed_total"] += sample.value
        completed, failed, in_flight = totals.values()
        return completed, failed, in_flight

    def tell(self) -> str:
        """Rate over the last seconds, completions, errors and flows in flight since the first look."""
        try:
            completed, failed, in_flight = self._read()
        except LabError:
            return "the bridge is too busy to tell"
        now = time.monotonic()
        self._first = self._first or (completed, failed)
        self._seen.append((now, completed))
        while now - self._seen[0][0] > RATE_SECONDS and len(self._seen) > 2:
            self._seen.popleft()
        seconds = now - self._seen[0][0]
        rate = (completed - self._seen[0][1]) / seconds if seconds > 0 else 0.0
        done, errors = completed - self._first[0], failed - self._first[1]
        return f"{rate:5.1f} flows/s, {done:.0f} completed, {errors:.0f} errors, {in_flight:.0f} in flight"


def generate_load(plan: Plan, bridge: Bridge, container: str) -> Timeline:
    """Wait for the load container's end and show how it goes."""
    timeline = Timeline()
    live = LiveRate(bridge, plan.subject)
    started = time.monotonic()
    total = plan.options.total_seconds
    limit = LOAD_START_SECONDS_MAX + total + plan.flow_timeout_seconds
    with ui.Ticker(every_seconds=15) as ticker:
        while True:
            code = container_exit_code(container)
            elapsed = time.monotonic() - started
            if code is not None:
                return timeline
            if elapsed > limit:
                raise LabError(
                    f"The load did not end within {limit:.0f} s", "See `docker compose logs bridge`.", exit_code=1
                )
            timeline.note()
            stage = (
                "warm-up" if elapsed < plan.options.warm_up_seconds else "measuring" if elapsed < total else "stopping"
            )
            ticker.show(f"{stage}: {live.tell()}, {max(0.0, total - elapsed):.0f} s left")
            time.sleep(POLL_SECONDS)


def collect(compose: Compose, plan: Plan, container: str, directory: Path) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The generator's rows and its closing words. Raises LabError when it did not end well."""
    for suffix in ("ndjson", "end.json"):
        source = f"locust:{ROWS_DIRECTORY}/{plan.identity}.{suffix}"
        copied = compose.run("cp", source, str(directory / f"rows.{suffix}"), check=False)
        if copied.returncode != 0:
            done = run_docker(["logs", "--tail", "40", container])
            for line in last_lines(done.stdout + done.stderr, 12):
                ui.note(f"| {line}")
            raise LabError("The load generator did not end well", "Its last lines are above.", exit_code=1)
    end: dict[str, Any] = json.loads((directory / "rows.end.json").read_text(encoding="utf-8"))
    return rows.read_rows(directory / "rows.ndjson"), end


def measuring_window(end: dict[str, Any], warm_up_seconds: float) -> Window:
    """After the warm-up until the load was told to stop."""
    window = Window(float(end["started_at"]) + warm_up_seconds, float(end["stop_at"]))
    if window.seconds <= 0:
        raise LabError("The load stopped before the warm-up was over", "Was Locust stopped by hand?", exit_code=1)
    return window


def mean_in_window(metrics: pl.DataFrame, name: str, window: Window, *, label: str | None = None) -> dict[str, float]:
    """Mean over the window of one named series, by node or by another label."""
    samples = metrics.filter(
        (pl.col("name") == name) & (pl.col("time") >= window.started_at) & (pl.col("time") <= window.ended_at)
    )
    key = pl.col("labels").str.json_path_match(f"$.{label}") if label else pl.col("node")
    means = samples.group_by(key.alias("key")).agg(pl.col("value").mean()).drop_nulls("key").sort("key")
    return {str(found): float(value) for found, value in means.iter_rows()}


def flags(step: dict[str, Any]) -> list[str]:
    """What makes the figures of a step doubtful, a sentence each."""
    found = []
    law = step["littles_law"]
    if not law["holds"]:
        deviation = law["deviation_percent"]
        off = "cannot be checked" if deviation is None else f"is off by {deviation:+.1f} %"
        found.append(f"Little's law {off}: the load was not steady, or requests were lost")
    cpu = step["generator"]["cpu_percent_max"]
    if cpu is not None and cpu > rows.GENERATOR_CPU_PERCENT_MAX:
        found.append(f"the generator used up to {cpu:.0f} % of its core and may have been the limit itself")
    change = step["steadiness"]["change_percent"]
    if change is not None and abs(change) > rows.DRIFT_PERCENT_MAX:
        found.append(f"throughput changed by {change:+.0f} % from the first to the second half: not steady yet")
    spawned_at = step["window"]["spawned_at"]
    if spawned_at is None or spawned_at > step["window"]["started_at"]:
        found.append("users were still starting when the measuring window began")
    return found


def verdict(step: dict[str, Any]) -> list[str]:
    """Why a run has failed, a sentence each; nothing when it has not."""
    reasons = []
    if step["requests"]["ok"] == 0:
        reasons.append("no flow was completed")
    if step["requests"]["errors"]:
        reasons.append(f"{step['requests']['errors']} requests ended in an error")
    if step["counts"]["disagreements"]:
        reasons.append("the counts do not agree: " + "; ".join(step["counts"]["disagreements"]))
    return reasons


def build_step(
    plan: Plan,
    requests: pl.DataFrame,
    metrics: pl.DataFrame,
    end: dict[str, Any],
    counted: counts.Counts,
    timeline: Timeline,
) -> dict[str, Any]:
    """The entry of ``steps.json``; ``docs/methodology.md`` defines every figure in it."""
    options = plan.options
    window = measuring_window(end, options.warm_up_seconds)
    in_flight = mean_in_window(metrics, "bridge_flows_in_flight", window).get(plan.subject.node)
    step: dict[str, Any] = {
        "name": plan.workload.name,
        "workload": plan.workload.name,
        "flow": plan.subject.flow,
        "node": plan.subject.node,
        "counterparty": plan.subject.counterparty,
        "load": {
            "model": "closed",
            "users": options.users,
            "pacing_seconds": options.pacing_seconds,
            "spawn_per_second": options.spawn_per_second,
            "seed": options.seed,
        },
        "window": {
            "load_started_at": end["started_at"],
            "spawned_at": end.get("spawned_at"),
            "started_at": window.started_at,
            "ended_at": window.ended_at,
            "load_ended_at": end["ended_at"],
            "warm_up_seconds": options.warm_up_seconds,
            "seconds": window.seconds,
        },
        **rows.request_figures(requests, window, bridge_in_flight=in_flight),
        "counts": counted.as_dict(),
        "generator": {"cpu_percent_max": end.get("cpu_percent_max"), "exit_reason": end.get("exit_reason")},
        "resources": {
            "host_busy_percent": timeline.busy_percent(window),
            "node_cpu_cores": mean_in_window(metrics, "node_cpu_cores", window),
            "node_heap_used_bytes": mean_in_window(metrics, "node_heap_used_bytes", window),
            "node_gc_share": mean_in_window(metrics, "node_gc_share", window),
            "lab_cpu_cores": mean_in_window(metrics, "lab_cpu_cores", window, label="job"),
        },
    }
    step["flags"] = flags(step)
    reasons = verdict(step)
    step["verdict"] = {"passed": not reasons, "reasons": reasons}
    return step


def iso(seconds: float) -> str:
    """Unix seconds as UTC text."""
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds")


def run_manifest(plan: Plan, environment: dict[str, Any], end: dict[str, Any]) -> dict[str, Any]:
    """The content of ``run.json``."""
    load = plan.options
    return {
        "schema": 1,
        "id": plan.identity,
        "command": manifest.command_line(),
        "started_at": iso(float(end["started_at"])),
        "ended_at": iso(float(end["ended_at"])),
        "phases_seconds": dict(ui.phase_times.seconds),
        "load": {
            "model": "closed",
            "workload": plan.workload.name,
            "users": load.users,
            "duration_seconds": load.duration_seconds,
            "warm_up_seconds": load.warm_up_seconds,
            "pacing_seconds": load.pacing_seconds,
            "node": plan.subject.node,
            "counterparty": plan.subject.counterparty,
            "seed": load.seed,
        },
        "workload_file": plan.workload.source.path.read_text(encoding="utf-8"),
        **environment,
    }


def execute(options: LoadOptions, settings: Settings) -> tuple[Path, dict[str, Any]]:
    """Run, measure and keep. Returns the run's folder and its step.

    An interrupted or failed run leaves no folder: the load is stopped and what was collected is dropped, so every folder
    of ``results/`` is a whole run.
    """
    compose = Compose(settings)
    bridge, prometheus = Bridge(settings.url("BRIDGE_PORT")), Prometheus(settings.url("PROMETHEUS_PORT"))
    with ui.phase("Checking the run"):
        planned = plan(options, settings, compose, bridge)
        environment = manifest.environment(settings)
        if not counts.await_rest(bridge, prometheus, since=time.time() - 2 * SCRAPE_SECONDS, seconds_max=60):
            raise LabError("The lab is not at rest", "Wait until `scripts/lab status` shows no flow in flight.")
        before = counts.snapshot(bridge, prometheus, planned.subject)
        to = f" → {planned.subject.counterparty}" if planned.subject.counterparty else ""
        ui.note(f"{planned.workload.name}: {planned.subject.flow_short}, {planned.subject.node}{to}")
    with tempfile.TemporaryDirectory(prefix="corda-lab-run-") as scratch, results.new_run(planned.identity) as folder:
        title = f"Load: {options.users} users for {options.warm_up_seconds:g} s + {options.duration_seconds:g} s"
        with ui.phase(title), load_container(compose, planned) as container:
            timeline = generate_load(planned, bridge, container)
            requests, end = collect(compose, planned, container, Path(scratch))
        with ui.phase("Waiting for rest, counting"):
            succeeded = requests.filter(pl.col("outcome") == "ok").height
            counted = counts.count_run(
                bridge, prometheus, planned.subject, before, generator=succeeded, ended_at=float(end["ended_at"])
            )
        with ui.phase("Keeping the results"):
            metrics = prometheus.run_metrics(
                started_at=float(end["started_at"]) - 3 * SCRAPE_SECONDS, ended_at=time.time()
            )
            step = build_step(planned, requests, metrics, end, counted, timeline)
            requests.write_parquet(folder / "requests.parquet")
            metrics.write_parquet(folder / "metrics.parquet")
            results.write_json(folder / "steps.json", {"schema": 1, "steps": [step]})
            results.write_json(folder / "run.json", run_manifest(planned, environment, end))
            report.render(folder)
    return results.find_run(planned.identity), step
