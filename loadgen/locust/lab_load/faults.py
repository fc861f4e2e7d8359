"""The faults that the lab has now, as the command line shows them: a collector for the metrics page."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from prometheus_client.core import GaugeMetricFamily, Metric

from lab_workload.faults import FAULTS_FILE, read_shown

_LABELS = ("kind", "target")


class FaultCollector:
    """Exports each fault that lasts. The command line writes them to a file in the folder of the rows."""

    def __init__(self, rows: Path, now: Callable[[], float] = time.time) -> None:
        self._file = rows / FAULTS_FILE
        self._now = now

    def collect(self) -> Iterator[Metric]:
        """Yield one metric with a sample for each fault; without samples if there is none."""
        family = GaugeMetricFamily("lab_fault_info", "1 while a fault lasts; the labels name it.", labels=_LABELS)
        for fault in read_shown(self._text()):
            if fault.until > self._now():
                family.add_metric((fault.kind, fault.target), 1)
        yield family

    def _text(self) -> str:
        try:
            return self._file.read_text(encoding="utf-8")
        except (OSError, ValueError):
            return ""
