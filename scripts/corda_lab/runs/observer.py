"""Reads all counters before and after a load."""

import time
from pathlib import Path

import polars as pl

from corda_lab.errors import LabError
from corda_lab.lab.lab import Lab
from corda_lab.runs import counters, node_metrics, readings, spans
from corda_lab.steps import costs, counts
from corda_lab.steps.entry import CountsEntry
from corda_lab.steps.stages import Tracing
from lab_workload.load import DatabaseSize
from lab_workload.subject import Subject

REST_BEFORE_SECONDS_MAX = 60.0


class Observer:
    """Reads all counters when it is created, after the set-up, and again at rest after the load.

    ``database_size`` says how to read the size of H2 databases. Raises LabError if the lab is not at rest after the
    set-up.
    """

    def __init__(
        self,
        lab: Lab,
        subject: Subject,
        database_size: DatabaseSize = "file",
    ) -> None:
        self._lab = lab
        self._compose = compose = lab
        self._bridge = bridge = lab.bridge
        self._subject = subject
        self._database_size = database_size
        if not counters.await_rest(lab, seconds_max=REST_BEFORE_SECONDS_MAX):
            raise LabError("The lab is not at rest", "Wait until `scripts/lab status` shows no outstanding flows.")
        self._began_at = time.time()
        self._nodes = bridge.nodes()
        self._metrics = node_metrics.read(lab)
        self._before = counters.snapshot(bridge, self._metrics, subject)
        self._offsets = spans.offsets(compose, list(self._nodes), bytes_max=spans.KEPT_BYTES_MAX)
        self._costs = readings.read(compose, list(self._nodes), database_size)

    @property
    def before(self) -> counts.Snapshot:
        return self._before

    def count(self, requests: pl.DataFrame, rest: counters.Rest) -> CountsEntry:
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
        transactions = counts.check_transactions(told, recorded)
        changes = {"at_rest": at_rest, "rest_seconds": rest.seconds, "transactions": transactions}
        return counts.judged(counted.model_copy(update=changes), [*unread, *unread_ids])

    def spans(self, directory: Path, requests: pl.DataFrame) -> tuple[pl.DataFrame, Tracing]:
        """Collect the spans of ``requests`` since the start of the load. Raises LabError."""
        time.sleep(spans.FLUSH_SECONDS)
        paths = spans.collect(self._compose, self._offsets, directory)
        dropped = spans.dropped_over(spans.dropped(self._metrics), spans.dropped(self._metrics_after))
        unread = sorted({*self._offsets} - {*paths})
        tracing = Tracing(bool(self._offsets), dropped, unread, has_one_clock=self._compose.is_here)
        return spans.read(paths.values(), self._nodes, requests), tracing

    def readings(self) -> tuple[costs.Reading, costs.Reading]:
        return self._costs, readings.read(self._compose, list(self._nodes), self._database_size)
