"""Reads all counters before and after a load."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl

from corda_lab.errors import LabError
from corda_lab.lab.deployed import is_here
from corda_lab.runs import counters, node_metrics, readings, stage_rows
from corda_lab.runs.running import RunningLab
from corda_lab.steps import costs, counts, stages
from corda_lab.steps.entry import StagesEntry
from corda_lab.steps.load import DatabaseSize
from corda_lab.steps.rows import Window
from lab_workload.subject import Subject

REST_BEFORE_SECONDS_MAX = 60.0


class Observer:
    """Reads all counters when it is created, after the set-up, and again at rest after the load.

    ``database_size`` says how to read the size of H2 databases. Raises LabError if the lab is not at rest after the
    set-up.
    """

    def __init__(
        self,
        lab: RunningLab,
        subject: Subject,
        database_size: DatabaseSize = "file",
    ) -> None:
        self._lab = lab
        self._compose = compose = lab.compose
        self._bridge = bridge = lab.bridge
        self._subject = subject
        self._database_size = database_size
        if not counters.await_rest(lab, seconds_max=REST_BEFORE_SECONDS_MAX):
            raise LabError("The lab is not at rest", "Wait until `scripts/lab status` shows no outstanding flows.")
        self._began_at = time.time()
        self._nodes = bridge.nodes()
        self._metrics = node_metrics.read(lab)
        self._before = counters.snapshot(bridge, self._metrics, subject)
        self._stage_offsets = stage_rows.offsets(compose, list(self._nodes))
        self._costs = readings.read(compose, list(self._nodes), database_size)

    @property
    def before(self) -> counts.Snapshot:
        return self._before

    def count(self, requests: pl.DataFrame, rest: counters.Rest) -> counts.Counts:
        """Wait until the lab is at rest, and return the four counts over the load.

        They do not agree if a vault cannot be read. Raises LabError if any other counter cannot be read.
        """
        at_rest = rest.wait(self._lab)
        vaults, unread = counters.read_vaults(self._subject.vault_places, self._bridge.vault_unconsumed)
        self._metrics_after = node_metrics.read(self._lab)
        after = counters.snapshot(self._bridge, self._metrics_after, self._subject, vaults)
        counted = counts.difference(self._before, after, self._subject, succeeded=counts.succeeded_by_part(requests))
        told = counts.told_transactions(requests, self._subject)
        recorded, unread_ids = counters.read_vaults(
            told, lambda node, state: self._bridge.vault_transactions(node, state, self._began_at)
        )
        return replace(
            counted,
            at_rest=at_rest,
            rest_seconds=rest.seconds,
            transactions=counts.check_transactions(told, recorded),
            vaults_unread=(*unread, *unread_ids),
        )

    def stage_rows(self, directory: Path, *, torn_max: int = 0) -> pl.DataFrame | None:
        """Collect the stage rows since the start of the load, if any. Up to ``torn_max`` of a node may be torn."""
        time.sleep(stage_rows.FLUSH_SECONDS)
        paths = stage_rows.collect(self._compose, self._stage_offsets, directory)
        return stage_rows.read_stages(paths, self._nodes, torn_max=torn_max)

    def stage_values(self, requests: pl.DataFrame, rows: pl.DataFrame | None) -> Callable[[Window], StagesEntry]:
        """Return a function that makes the step's entry ``stages`` from its measuring window."""
        before, after = (stage_rows.dropped_rows(metrics) for metrics in (self._metrics, self._metrics_after))
        return lambda window: stages.stage_values(
            requests,
            rows,
            window,
            {part.name: part.flow for part in self._subject.parts},
            is_on=bool(self._stage_offsets),
            dropped={node: count - before.get(node, 0) for node, count in after.items()},
            has_one_clock=is_here(self._compose),
        )

    def readings(self) -> tuple[costs.Reading, costs.Reading]:
        return self._costs, readings.read(self._compose, list(self._nodes), self._database_size)
