"""Makes a run of a load by hand: of its files, as of any load, and of what Prometheus and the nodes still know of it.

A form has no measuring window, and the number of users may change while the load runs. So what is measured is its last
part with a constant number of users, from the end of its warm-up on.
"""

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from corda_lab.audit import audit_load
from corda_lab.audit.command import stateful_parts
from corda_lab.clients.bridge import Node
from corda_lab.clients.prometheus import SCRAPE_SECONDS, Prometheus
from corda_lab.errors import LabError
from corda_lab.lab import lifecycle
from corda_lab.lab.environment import read_environment
from corda_lab.lab.lab import Lab
from corda_lab.lab.settings import Settings
from corda_lab.node_logs import read as node_logs
from corda_lab.report import commands
from corda_lab.results import folders, store, stored
from corda_lab.results.manifest import Environment, Manifest
from corda_lab.results.store import Measured
from corda_lab.runs import by_hand, collect, counters, execute, leftovers, recording, spans, unknown
from corda_lab.runs.by_hand import HandLoad
from corda_lab.runs.counters import LabSamples
from corda_lab.runs.preflight import check_lab_is_up, check_no_other_load
from corda_lab.runs.rows_volume import RowsVolume
from corda_lab.runs.running import deployed
from corda_lab.steps import costs, counts, rows
from corda_lab.steps.build import Observed, build_step
from corda_lab.steps.counts import BRIDGE
from corda_lab.steps.entry import CountsEntry, StepEntry
from corda_lab.steps.load import COLD_FLOWS, with_limit
from corda_lab.steps.reasons import Reason, reason
from corda_lab.steps.resolutions import with_resolutions
from corda_lab.steps.spans import stage_rows as stage_rows_of
from corda_lab.steps.stages import Tracing
from corda_lab.text import ui
from corda_lab.text.words import listed
from lab_workload.load import Load, Stopping
from lab_workload.plan import Plan
from lab_workload.run_end import RunEnd

STOPPING_SECONDS_MAX = 180.0
"""How long a report waits until a load that was stopped has ended."""
WARM_UP_SHARE_MAX = 0.5
"""The longest warm-up that is looked for, as a share of the time with a constant number of users."""
TOLERANCE_SECONDS = 0.5
"""By how much a load may be shorter than a wanted window. The generator looks at the clock once a second."""
IN_FLIGHT = "sum(corda_flows_in_flight) + sum(bridge_flows_in_flight)"


@dataclass(frozen=True)
class Wanted:
    """The arguments of ``lab report web-ui``: which load, the window that is measured, and the name of the run.

    Without a warm-up or a duration, the warm-up is found, and all of the rest is measured.
    """

    load: str = by_hand.NEWEST
    warm_up_seconds: float | None = None
    duration_seconds: float | None = None
    name: str | None = None


@dataclass(frozen=True)
class Made:
    """What became of a load: the folder of its run and its step; no step if only its rows could be kept."""

    folder: Path
    step: StepEntry | None


def report(wanted: Wanted, settings: Settings) -> list[Made]:
    """Make a run of the wanted load, or of all. Raises LabError; then the loads that are left are still there."""
    lifecycle.require_engine()
    folders.require_writable()
    with tempfile.TemporaryDirectory(prefix="corda-lab-") as scratch:
        maker, loads = _prepared(wanted, settings, Path(scratch))
        return [maker.make(load, wanted) for load in loads]


def _prepared(wanted: Wanted, settings: Settings, scratch: Path) -> tuple["Maker", Sequence[HandLoad]]:
    """Wait until the lab is at rest, and return the wanted loads with what makes runs of them. Raises LabError."""
    with ui.phase("Looking for loads of the web UI"):
        lab = deployed(settings)
        nodes = check_lab_is_up(lab, lab.bridge)
        leftovers.collect(lab)
        url = lab.settings.url("LOCUST_PORT")
        by_hand.await_stopped(url, STOPPING_SECONDS_MAX)
        check_no_other_load(lab, lab.bridge, url)
        counters.await_rest(lab)
        volume = RowsVolume(lab)
        loads = by_hand.chosen(by_hand.uncollected(volume), wanted.load)
        if wanted.name is not None:
            folders.check_name(wanted.name, option="--name")
        if wanted.name is not None and len(loads) > 1:
            raise LabError("--name: is for one load only", "Leave it out, or choose one load.")
        ui.note(listed([load.identity for load in loads]))
        # Every load had ended before the first run is made.
        span_files = spans.collect(lab, dict.fromkeys(spans.offsets(lab, list(nodes)), 0), scratch)
        return Maker(lab, nodes, volume, read_environment(lab), span_files), loads


@dataclass(frozen=True)
class Maker:
    """Makes runs on the running lab, which is at rest. ``span_files`` has what each node has written since it began."""

    lab: Lab
    nodes: Mapping[str, Node]
    volume: RowsVolume
    environment: Environment
    span_files: Mapping[str, Path]

    def make(self, load: HandLoad, wanted: Wanted) -> Made:
        """Make a run of one load, and delete its files from the volume. Raises LabError."""
        if load.end is None:
            by_hand.require_ended(self.lab, load.identity)
        why = by_hand.CUT_OFF if load.plan is None or load.end is None else why_unmeasurable(load.plan.load, load.end)
        if load.plan is None or load.end is None or why:
            kept = by_hand.keep_rows(self.volume, load, why)
            leftovers.keep_logs(self.lab, kept, stored.read_step(kept))
            return Made(kept.parent.parent, None)
        identity = load.run_id(wanted.name)
        run = folders.run_folder(identity)
        if run.exists() and stored.read_manifest(run).web_ui == load.identity:
            if folders.is_finished(run):
                # The command that made it was killed before it deleted the files.
                self.volume.delete(load.identity)
                ui.note(f"{identity} was made of {load.identity} before")
                return Made(run, stored.read(run).steps[0])
            folders.remove(run)
        folders.require_free(identity)
        with tempfile.TemporaryDirectory(prefix="corda-lab-") as scratch:
            folder = Path(scratch)
            with ui.phase(f"Making a run of {load.identity}"):
                plan = load.plan.model_copy(update={"load": measured_load(load.plan, load.end, wanted)})
                requests, drops = self._rows(plan, load.end, folder)
                measured, at_rest_at = self._measured(plan, load.end, requests, drops, wanted)
            with ui.phase("Auditing the ledgers"):
                stateful = stateful_parts(measured.step)
                found = audit_load(self.lab, measured.requests, at_rest=at_rest_at, stateful=stateful)
                ui.note(found.summary)
            measured = measured.with_audit(found)
            manifest = manifest_of(identity, measured, load.identity)
            with recording.begun(manifest) as run:
                place = store.new_step(run, measured.step.index, measured.step.key)
                store.end_step(place, stored.RUN_STEP)
                node_logs.keep_if_failed(measured.step, self.lab, place)
                recording.keep(place, measured)
                execute.finish(run, manifest)
        self.volume.delete(load.identity)
        for node in plan.subject.nodes:
            unknown.forget(self.lab.bridge, node, load.identity)
        return Made(run, measured.step)

    def _rows(self, plan: Plan, end: RunEnd, folder: Path) -> tuple[pl.DataFrame, pl.Series]:
        """Fetch the rows and drops of a load, and ask what became of unknown outcomes. Raises LabError."""
        self.volume.fetch(plan.identity, folder / stored.EVIDENCE)
        requests = rows.read_rows(store.rows_files(folder))
        collect.check_row_counts(requests, end)
        drops = rows.read_drops(sorted((folder / stored.EVIDENCE).glob("*.drops.ndjson")))
        collect.check_drop_count(drops, end)
        ui.note(f"{requests.height:,} requests of {plan.load.workload}, {end.stop_at - end.started_at:.0f} s")
        kept_seconds = float(self.lab.settings["BRIDGE_OUTCOME_RETENTION_SECONDS"])
        # Later, a node says that it never had a flow whose outcome it has only forgotten.
        if unknown.are_in(requests) and time.time() - end.started_at <= kept_seconds:
            found = unknown.resolve_all(self.lab, plan.subject.nodes, requests)
            requests = with_resolutions(requests, found)
        return requests, drops

    def _measured(
        self, plan: Plan, end: RunEnd, requests: pl.DataFrame, drops: pl.Series, wanted: Wanted
    ) -> tuple[Measured, float]:
        """Compute the values of a load. Returns them, and when the lab was at rest after it. Raises LabError."""
        prometheus = self.lab.prometheus
        at_rest_at, at_rest = rest_after(prometheus, end, plan.load.places)
        before, after, now = (counters.samples_at(prometheus, at) for at in (end.started_at, at_rest_at, time.time()))
        rest = {"at_rest": at_rest, "rest_seconds": at_rest_at - end.ended_at}
        counted = counts.judged(counted_between(plan, before, after, requests).model_copy(update=rest))
        since = counters.snapshot_of(after, plan.subject)
        latest = counters.snapshot_of(now, plan.subject)
        restarted = sorted(since.restarted(latest))
        if not restarted and since.bridge_completed == latest.bridge_completed:
            # Otherwise, transactions of others would be counted too.
            counted = self._with_transactions(counted, plan, end, requests)
        requests = spans.limited(requests)
        own_spans = spans.read(self.span_files.values(), self.nodes, requests)
        stage_rows = stage_rows_of(own_spans, requests)
        metrics = prometheus.run_metrics(
            started_at=end.started_at - 3 * SCRAPE_SECONDS,
            ended_at=min(time.time(), at_rest_at + 2 * SCRAPE_SECONDS),
        )
        dropped_spans = spans.dropped_over(spans.dropped(before), spans.dropped(after))
        seen = Observed(
            requests=requests,
            drops=drops,
            metrics=metrics,
            end=end,
            counted=counted,
            warm_up=None,
            machine_use=lambda _: {},
            calibration=None,
            readings=(costs.Reading({}, {}), costs.Reading({}, {})),
            tracing=Tracing(bool(self.span_files), dropped_spans, has_one_clock=self.lab.is_here),
            spans=own_spans,
            stage_rows=stage_rows,
            seconds_max=wanted.duration_seconds,
        )
        about = (self.environment, plan.load.workload, plan.workload_text)
        measured = Measured(build_step(plan, seen), requests, metrics, stage_rows, *about, drops=drops, spans=own_spans)
        flags = warnings(plan, end, before, after, restarted)
        if metrics.is_empty():
            flags.append(reason("metrics_gone"))
        return measured.with_warnings(flags), at_rest_at

    def _with_transactions(self, counted: CountsEntry, plan: Plan, end: RunEnd, requests: pl.DataFrame) -> CountsEntry:
        """Look in the vaults for the transactions of a load."""
        told = counts.told_transactions(requests, plan.subject)
        recorded, unread = counters.read_vaults(
            told, lambda node, state: self.lab.bridge.vault_transactions(node, state, end.started_at)
        )
        transactions = counts.check_transactions(told, recorded)
        return counts.judged(counted.model_copy(update={"transactions": transactions}), unread)


def why_unmeasurable(load: Load, end: RunEnd) -> str:
    """Why no run can be made of a load that has ended; empty if one can."""
    if end.users_changed and (load.has_pool or load.is_counted):
        return "its number of users was changed while it ran, and only closed load that lasts for a time can be divided"
    if not load.is_counted and (end.spawned_at is None or end.spawned_at >= end.stop_at):
        return "its users were still starting or stopping when it ended"
    return ""


def measured_load(plan: Plan, end: RunEnd, wanted: Wanted) -> Load:
    """The load of a step: that of a form, with its last number of users and a measuring window. Raises LabError."""
    load = plan.load
    if load.is_counted:
        if wanted.warm_up_seconds is not None or wanted.duration_seconds is not None:
            raise LabError(
                "--warm-up and --duration: are not for a load that ends after a number of flows", "Leave them out."
            )
        return with_limit(load)
    assert end.spawned_at is not None
    constant_from, constant = end.spawned_at - end.started_at, end.stop_at - end.spawned_at
    warm_up, duration = wanted.warm_up_seconds, wanted.duration_seconds
    if (warm_up or 0.0) + (duration or 0.0) > constant + TOLERANCE_SECONDS:
        raise LabError(
            f"--warm-up, --duration: the users of the load were constant for {constant:.1f} s only, from second"
            f" {constant_from:.0f} on",
            "Give shorter times, or leave them out.",
        )
    most = max(0.0, min(constant * WARM_UP_SHARE_MAX, constant - (duration or 0.0))) if warm_up is None else warm_up
    return load.updated(
        users=end.users,
        warm_up_seconds=constant_from + most,
        duration_seconds=duration or constant - most,
        stopping=Stopping(warm_up_seconds_min=constant_from) if warm_up is None else None,
    )


def rest_after(prometheus: Prometheus, end: RunEnd, places: int) -> tuple[float, bool]:
    """When the lab was seen at rest after a load (unix seconds), and whether it was. ``places`` were in flight.

    If Prometheus has no samples any more, nobody knows, and it counts as being at rest.
    """
    # Not before Prometheus has read everything once.
    first = end.ended_at + SCRAPE_SECONDS
    time.sleep(max(0.0, first + SCRAPE_SECONDS - time.time()))
    last = min(time.time(), first + counters.rest_seconds_max(places))
    found = prometheus.range(IN_FLIGHT, started_at=first, ended_at=last, step_seconds=SCRAPE_SECONDS)
    for at, in_flight in found[0].points if found else ():
        if in_flight == 0:
            return at, True
    return (last, False) if found else (first, True)


def counted_between(plan: Plan, before: LabSamples, after: LabSamples, requests: pl.DataFrame) -> CountsEntry:
    """The counts of generator, bridge and nodes over a load. Prometheus does not read the vaults."""
    unread = (before.keys() ^ after.keys()) | ({BRIDGE, *plan.subject.nodes} - before.keys())
    subject = plan.subject
    found = counts.difference(
        counters.snapshot_of(before, subject),
        counters.snapshot_of(after, subject),
        subject,
        succeeded=counts.succeeded_by_part(requests),
        unread=frozenset(unread),
    )
    return counts.judged(found.model_copy(update={"vault_states": []}))


def warnings(plan: Plan, end: RunEnd, before: LabSamples, after: LabSamples, restarted: list[str]) -> list[Reason]:
    """What a reader has to know of a load by hand."""
    found = []
    if end.users_changed:
        found.append(reason("users_changed", measured=end.users))
    if unread := sorted({BRIDGE, *plan.subject.nodes} - (before.keys() & after.keys())):
        found.append(reason("counts_not_known", why=f"Prometheus did not read {listed(unread)} before and after it"))
    flows = counters.snapshot_of(before, plan.subject).node_success
    known = [
        (sum(flows.get(node, {}).values()), node)
        for node in (*plan.subject.nodes, *plan.subject.counterparties)
        if node in before
    ]
    if known and min(known)[0] < COLD_FLOWS:
        coldest, node = min(known)
        found.append(reason("node_cold", node=node, flows=coldest, enough=COLD_FLOWS))
    if restarted:
        found.append(reason("restarted_since", names=listed(restarted)))
    return found


def manifest_of(identity: str, measured: Measured, load: str) -> Manifest:
    step = measured.step
    # The command counts in whole seconds.
    times = {"warm_up_seconds": step.window.warm_up_seconds, "duration_seconds": max(1.0, step.window.seconds)}
    whole = {} if step.load.is_counted else {name: float(round(seconds)) for name, seconds in times.items()}
    repeat = step.load.updated(**whole, stopping=None)
    manifest = store.manifest(identity, load=repeat)
    return manifest.model_copy(update={"command": commands.run(step), "web_ui": load})
