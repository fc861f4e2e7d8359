"""Reads all counters before and after a load."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl

from corda_lab.errors import LabError
from corda_lab.lab.deployed import is_here
from corda_lab.runs import counters, readings, stage_rows
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
        self._prometheus = prometheus = lab.prometheus
        self._subject = subject
        self._database_size = database_size
        # An earlier scrape may still contain a flow of the set-up.
        if not counters.await_rest(lab, since=time.time(), seconds_max=REST_BEFORE_SECONDS_MAX):
            raise LabError("The lab is not at rest", "Wait until `scripts/lab status` shows no outstanding flows.")
        self._began_at = time.time()
        self._nodes = bridge.nodes()
        self._before = counters.snapshot(bridge, prometheus, subject)
        self._stage_offsets = stage_rows.offsets(compose, list(self._nodes))
        self._dropped = stage_rows.dropped_rows(prometheus)
        self._costs = readings.read(compose, list(self._nodes), database_size)

    @property
    def before(self) -> counts.Snapshot:
        return self._before

    def count(self, requests: pl.DataFrame, since: float, rest: counters.Rest) -> counts.Counts:
        """Wait until the lab is at rest, and return the four counts over the load.

        They do not agree if a vault cannot be read. Raises LabError if any other counter cannot be read.

        ``since`` is when the load ended by any clock, in Unix seconds.
        """
        counted = counters.count_run(
            self._lab,
            self._subject,
            self._before,
            succeeded=counts.succeeded_by_part(requests),
            since=since,
            rest=rest,
        )
        told = counts.told_transactions(requests, self._subject)
        vaults, unread = counters.read_vaults(
            told, lambda node, state: self._bridge.vault_transactions(node, state, self._began_at)
        )
        checked = counts.check_transactions(told, vaults)
        return replace(counted, transactions=checked, vaults_unread=(*counted.vaults_unread, *unread))

    def stage_rows(self, directory: Path, *, torn_max: int = 0) -> pl.DataFrame | None:
        """Collect the stage rows since the start of the load, if any. Up to ``torn_max`` of a node may be torn."""
        time.sleep(stage_rows.FLUSH_SECONDS)
        paths = stage_rows.collect(self._compose, self._stage_offsets, directory)
        return stage_rows.read_stages(paths, self._nodes, torn_max=torn_max)

    def stage_values(self, requests: pl.DataFrame, rows: pl.DataFrame | None) -> Callable[[Window], StagesEntry]:
        """Return a function that makes the step's entry ``stages`` from its measuring window."""
        dropped = stage_rows.dropped_rows(self._prometheus)
        return lambda window: stages.stage_values(
            requests,
            rows,
            window,
            {part.name: part.flow for part in self._subject.parts},
            is_on=bool(self._stage_offsets),
            dropped={node: count - self._dropped.get(node, 0) for node, count in dropped.items()},
            has_one_clock=is_here(self._compose),
        )

    def readings(self) -> tuple[costs.Reading, costs.Reading]:
        return self._costs, readings.read(self._compose, list(self._nodes), self._database_size)
