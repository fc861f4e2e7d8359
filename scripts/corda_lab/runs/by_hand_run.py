"""Makes a run of a load by hand: from the files that the generator has kept, and what the lab still knows of it."""

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import polars as pl

from corda_lab.audit import audit_load
from corda_lab.audit.command import stateful_parts
from corda_lab.clients.bridge import Node
from corda_lab.clients.prometheus import SCRAPE_SECONDS
from corda_lab.errors import LabError
from corda_lab.lab import lifecycle
from corda_lab.lab.environment import read_environment
from corda_lab.lab.lab import Lab
from corda_lab.lab.settings import Settings
from corda_lab.report import commands
from corda_lab.results import evidence, files, folders, stored
from corda_lab.results.files import Measured
from corda_lab.results.manifest import Environment, Manifest, WebUiStart
from corda_lab.runs import (
    by_hand,
    collect,
    counters,
    leftovers,
    node_logs,
    node_metrics,
    recording,
    spans,
    unknown,
)
from corda_lab.runs.by_hand import UncollectedLoad
from corda_lab.runs.preflight import check_lab_is_up, check_no_other_load
from corda_lab.runs.rows_volume import RowsVolume
from corda_lab.runs.running import deployed
from corda_lab.steps import by_hand as steps
from corda_lab.steps import costs, counts, rows
from corda_lab.steps.build import Observed, build_step
from corda_lab.steps.by_hand import MeasuredByHand, WantedWindow
from corda_lab.steps.counts import Snapshot
from corda_lab.steps.entry import StepEntry, TransactionCheck
from corda_lab.steps.load import COLD_FLOWS
from corda_lab.steps.reasons import Reason, reason
from corda_lab.steps.resolutions import with_resolutions
from corda_lab.steps.spans import stage_rows as stage_rows_of
from corda_lab.steps.stages import Tracing
from corda_lab.text import ui
from corda_lab.text.words import listed
from lab_workload.by_hand import Counters, LoadByHand, WebUiStatus
from lab_workload.run_end import RunEnd
from lab_workload.subject import Subject

COUNTED_SECONDS_MAX = 180.0
"""How long a report waits until the web UI has counted a load that has just ended."""
BEFORE_SECONDS = 3 * SCRAPE_SECONDS
"""How long before the load its metrics begin, as in ``lab run``."""
AFTER_SECONDS = 2 * SCRAPE_SECONDS
"""How long after the lab was at rest they end."""
RESTARTED_GENERATOR = "the load generator"


@dataclass(frozen=True)
class Wanted:
    """The arguments of ``lab report web-ui``: which load, the window that is measured, and the name of the run."""

    load: str = by_hand.NEWEST
    window: WantedWindow = field(default_factory=WantedWindow)
    name: str | None = None


@dataclass(frozen=True)
class Made:
    """What became of a load: the folder of its run and its step; no step if only its rows could be kept."""

    folder: Path
    step: StepEntry | None


@dataclass(frozen=True)
class _Load:
    about: LoadByHand
    end: RunEnd
    after: Counters | None
    requests: pl.DataFrame
    drops: pl.Series
    subject: Subject

    @property
    def at_rest_at(self) -> float:
        """When the lab was at rest after it, as far as that is known, in unix seconds."""
        return self.end.ended_at if self.after is None else max(self.after.read_at, self.end.ended_at)

    @property
    def last(self) -> Counters:
        return self.after or self.about.before


def report(wanted: Wanted, settings: Settings) -> list[Made]:
    """Make a run of the wanted load, or of all. Raises LabError; then the loads that are left are still there."""
    lifecycle.require_engine()
    folders.require_writable()
    with ui.phase("Looking for loads of the web UI"):
        lab = deployed(settings)
        nodes = check_lab_is_up(lab, lab.bridge)
        leftovers.collect(lab)
        url = lab.settings.url("LOCUST_PORT")
        status = by_hand.await_idle(url, COUNTED_SECONDS_MAX)
        check_no_other_load(lab, lab.bridge, url)
        volume = RowsVolume(lab)
        chosen = by_hand.uncollected(volume, status).chosen(wanted.load)
        if wanted.name is not None:
            folders.check_name(wanted.name, option="--name")
        if wanted.name is not None and len(chosen) > 1:
            raise LabError("--name: is for one load only", "Leave it out, or choose one load.")
        ui.note(listed([one.identity for one in chosen]))
        environment = read_environment(lab)
    with tempfile.TemporaryDirectory(prefix="corda-lab-") as scratch:
        maker = Maker(lab, nodes, volume, environment, status, Path(scratch))
        return [maker.make(one, wanted) for one in chosen]


class Maker:
    """Makes runs on the running lab, which is at rest. What all of them need of it is kept in ``scratch``."""

    def __init__(
        self,
        lab: Lab,
        nodes: Mapping[str, Node],
        volume: RowsVolume,
        environment: Environment,
        status: WebUiStatus | None,
        scratch: Path,
    ) -> None:
        self._lab = lab
        self._nodes = nodes
        self._volume = volume
        self._environment = environment
        self._status = status
        self._scratch = scratch

    def make(self, one: UncollectedLoad, wanted: Wanted) -> Made:
        """Make a run of one load, and delete its files from the volume. Raises LabError."""
        if one.end is None:
            by_hand.require_ended(self._lab, one.identity)
        if one.load is None or one.end is None:
            kept = folders.unfinished_folder() / by_hand.keep_rows(self._volume, one, by_hand.CUT_OFF)
            leftovers.keep_logs(self._lab, kept, by_hand.CUT_OFF)
            return Made(kept, None)
        identity = one.run_id(wanted.name)
        if leftovers.is_stored(identity) and is_of(identity, one.identity):
            # The command that made it was killed before it deleted the files.
            self._volume.delete(one.identity)
            ui.note(f"{identity} was made of {one.identity} before")
            stored_run = stored.read(folders.find_run(identity))
            return Made(stored_run.folder, stored_run.steps[0])
        folders.require_free(identity)
        with tempfile.TemporaryDirectory(prefix="corda-lab-") as scratch:
            folder = Path(scratch)
            with ui.phase(f"Making a run of {one.identity}"):
                load = self._fetched(one, one.load, one.end, folder)
                completions = load.requests.filter(rows.is_done())["ended_at"].sort().to_list()
                what = steps.measured(load.about, load.end, completions, wanted.window)
                measured = self._measured(load, what, folder)
            with ui.phase("Auditing the ledgers"):
                stateful = stateful_parts(measured.step)
                found = audit_load(self._lab, measured.requests, at_rest=load.at_rest_at, stateful=stateful)
                ui.note(found.summary)
            measured = node_logs.with_logs(measured.with_audit(found), self._lab, folder)
            with ui.phase("Storing the results"):
                run = recording.store(manifest_of(identity, measured, load.about, what), measured)
        self._volume.delete(one.identity)
        for node, prefix in client_id_prefixes(load.requests):
            unknown.forget(self._lab.bridge, node, prefix)
        return Made(run, measured.step)

    def _fetched(self, one: UncollectedLoad, about: LoadByHand, end: RunEnd, folder: Path) -> _Load:
        """Fetch and read the rows of a load. Raises LabError if some are missing."""
        self._volume.fetch(one.identity, folder / evidence.ROWS)
        frame = rows.read_rows(evidence.rows_files(folder))
        collect.check_row_counts(frame, end)
        drops = rows.read_drops(sorted((folder / evidence.ROWS).glob("*.drops.ndjson")))
        collect.check_drop_count(drops, end)
        load = _Load(about, end, one.after, frame, drops, about.plan.subject)
        ui.note(f"{frame.height:,} requests of {about.plan.load.workload}, {end.stop_at - end.started_at:.0f} s")
        return replace(load, requests=self._resolved(load))

    def _resolved(self, load: _Load) -> pl.DataFrame:
        """Return the rows with what became of the requests with an unknown outcome, as long as the nodes know it."""
        kept_seconds = float(self._lab.settings["BRIDGE_OUTCOME_RETENTION_SECONDS"])
        # Later, a node says that it never had a flow whose outcome it has only forgotten.
        if not unknown.are_in(load.requests) or time.time() - load.end.started_at > kept_seconds:
            return load.requests
        found = unknown.resolve_all(self._lab, load.subject.nodes, load.requests)
        return with_resolutions(load.requests, found)

    def _measured(self, load: _Load, what: MeasuredByHand, folder: Path) -> Measured:
        """Read what the lab knows of a load, and compute its values. Raises LabError."""
        now = counters.snapshot(self._lab.bridge, node_metrics.read(self._lab), load.subject)
        succeeded = counts.succeeded_by_part(load.requests)
        counted, not_known = steps.counted(load.about, load.after, load.subject, succeeded)
        counted = counts.judged(counted.model_copy(update={"transactions": self._transactions(load, now)}))
        restarted = self._restarted(load, now)
        load = replace(load, requests=spans.limited(load.requests))
        own_spans = spans.read(self._span_files.values(), self._nodes, load.requests)
        stage_table = stage_rows_of(own_spans, load.requests)
        metrics = self._metrics(load)
        seen = Observed(
            requests=load.requests,
            drops=load.drops,
            metrics=metrics,
            end=load.end,
            counted=counted,
            warm_up=what.warm_up,
            machine_use=lambda _: {},
            calibration=None,
            readings=(costs.Reading({}, {}), costs.Reading({}, {})),
            tracing=Tracing(bool(self._span_files), dropped_spans(load), has_one_clock=self._lab.is_here),
            spans=own_spans,
            stage_rows=stage_table,
            measured_until=what.until,
        )
        plan = load.about.plan.model_copy(update={"load": what.options})
        step = build_step(plan, seen)
        about = (self._environment, plan.load.workload, plan.workload_text)
        measured = Measured(step, load.requests, metrics, stage_table, *about, drops=load.drops, spans=own_spans)
        gone = [reason("metrics_gone")] if metrics.is_empty() else []
        since = [reason("restarted_since", names=listed(restarted))] if restarted else []
        return measured.with_warnings([*what.warnings, *not_known, *cold_nodes(load), *since, *gone])

    def _transactions(self, load: _Load, now: Snapshot) -> list[TransactionCheck]:
        """Look for the transactions of a load in the vaults; not if others were recorded there since it ended."""
        if load.after is None:
            return []
        then = steps.snapshot_of(load.after, load.subject)
        if then.restarted(now) or (then.bridge_completed, then.vault_unconsumed) != (
            now.bridge_completed,
            now.vault_unconsumed,
        ):
            return []
        told = counts.told_transactions(load.requests, load.subject)
        since = load.about.before.read_at
        vaults = {(state, node): self._lab.bridge.vault_transactions(node, state, since) for state, node in told}
        return counts.check_transactions(told, vaults)

    def _restarted(self, load: _Load, now: Snapshot) -> list[str]:
        """Return the parts of the lab that have started again since the load, so that they may be others now."""
        names = sorted(steps.snapshot_of(load.last, load.subject).restarted(now))
        if self._status is not None and self._status.generator_started_at != load.about.generator_started_at:
            names.append(RESTARTED_GENERATOR)
        return names

    @cached_property
    def _span_files(self) -> Mapping[str, Path]:
        """All spans since the containers of the nodes began. Every load had ended before the first run is made."""
        begins = dict.fromkeys(spans.offsets(self._lab, list(self._nodes)), 0)
        return spans.collect(self._lab, begins, self._scratch)

    def _metrics(self, load: _Load) -> pl.DataFrame:
        """Return the series over a load."""
        ended_at = min(time.time(), load.at_rest_at + AFTER_SECONDS)
        return self._lab.prometheus.run_metrics(started_at=load.end.started_at - BEFORE_SECONDS, ended_at=ended_at)


def is_of(identity: str, load: str) -> bool:
    manifest = folders.read_object(folders.find_run(identity) / "run.json")
    web_ui = manifest.get("web_ui")
    return isinstance(web_ui, dict) and web_ui.get("id") == load


def dropped_spans(load: _Load) -> dict[str, int]:
    """The spans that each node dropped over a load, as far as that is known."""
    counts = load.about.before.nodes, load.after.nodes if load.after else {}
    return spans.dropped_over(*({node: at.spans_dropped for node, at in one.items()} for one in counts))


def cold_nodes(load: _Load) -> list[Reason]:
    """The warning that a node had completed too few flows to be warm. Of several nodes, the coldest is named."""
    wanted = {*load.subject.nodes, *load.subject.counterparties}
    known = {node: at for node, at in load.about.before.nodes.items() if node in wanted}
    if not known:
        return []
    flows, node = min((sum(at.succeeded.values()), node) for node, at in known.items())
    return [reason("node_cold", node=node, flows=flows, enough=COLD_FLOWS)] if flows < COLD_FLOWS else []


def client_id_prefixes(requests: pl.DataFrame) -> Sequence[tuple[str, str]]:
    """The beginnings of the client ids of a load, with the node that knows them. Each process had its own."""
    prefixes = requests.select("node", pl.col("client_id").str.replace(r"-\d+$", "")).unique(maintain_order=True)
    return [(str(node), str(prefix)) for node, prefix in prefixes.iter_rows()]


def manifest_of(identity: str, measured: Measured, load: LoadByHand, what: MeasuredByHand) -> Manifest:
    return files.single(identity, measured, what.repeat).model_copy(
        update={
            "started": "web UI",
            "command": commands.run(measured.step),
            "web_ui": WebUiStart(
                id=load.plan.identity,
                form=load.form,
                users=load.users,
            ),
        }
    )
