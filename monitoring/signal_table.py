"""The table of signals (signals.yaml), and the check that all of them arrive on a running lab."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from corda_lab.clients.prometheus import Prometheus

SIGNALS_FILE = Path(__file__).with_name("signals.yaml")

Kind = Literal["counter", "gauge", "histogram"]
Presence = Literal["always", "load", "fault"]
Moment = Literal["rest", "load"]

# Platform version of Corda 4.10.
NEWEST_PLATFORM = 12

# Set by Prometheus for every target, or part of a histogram; not in the table.
IMPLICIT_LABELS = frozenset({"__name__", "job", "instance", "le"})


@dataclass(frozen=True)
class Signal:
    """One metric of one scrape job, as signals.yaml describes it."""

    job: str
    metric: str
    kind: Kind
    present: Presence
    meaning: str
    labels: Mapping[str, str]
    everywhere: bool = False
    since: int = 0
    only_with: str = ""

    @property
    def series(self) -> str:
        """Name of a series that represents the metric. It is a counter, unless the metric is a gauge."""
        return f"{self.metric}_count" if self.kind == "histogram" else self.metric

    @property
    def rises_under_load(self) -> bool:
        return self.present == "load" and self.kind != "gauge"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its series."""
        parts = ("_bucket", "_count", "_sum") if self.kind == "histogram" else ("",)
        return tuple(self.metric + part for part in parts)

    def is_there(self, platform: int, shape: Mapping[str, str]) -> bool:
        """Whether a lab has it, with nodes of this platform version and of this shape (variable in .env → value)."""
        settings = {f"{name}={value}" for name, value in shape.items()}
        return self.since <= platform and (not self.only_with or self.only_with in settings)


def load_signals(path: Path = SIGNALS_FILE) -> list[Signal]:
    """Read the table. The labels of a job, and what it is only there with, apply to all its signals."""
    jobs: dict[str, dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    return [_signal(job, table, entry) for job, table in jobs.items() for entry in table["signals"]]


def _signal(job: str, table: dict[str, Any], entry: dict[str, Any]) -> Signal:
    only_with = entry.get("only_with", table.get("only_with", ""))
    labels = table.get("labels", {}) | entry.get("labels", {})
    return Signal(job=job, **entry | {"only_with": only_with, "labels": labels})


def signal_faults(
    prometheus: Prometheus,
    signals: Sequence[Signal],
    moment: Moment,
    window_seconds: int,
    platform: int = NEWEST_PLATFORM,
    shape: Mapping[str, str] | None = None,
) -> list[str]:
    """Return what is wrong with the signals of the last ``window_seconds``; empty if all of them arrive.

    With the moment "load", a workload must have run for most of the window, and the window must span several scrapes.
    Left out are signals that nodes of this platform version or a lab of this ``shape`` (variable in .env → value) do
    not have.
    """
    there = [signal for signal in signals if signal.is_there(platform, shape or {})]
    return [fault for signal in there for fault in _faults_of(prometheus, signal, moment, window_seconds)]


def _faults_of(prometheus: Prometheus, signal: Signal, moment: Moment, window_seconds: int) -> list[str]:
    name = f"{signal.metric} of job {signal.job}"
    selector = f'{signal.series}{{job="{signal.job}"}}[{window_seconds}s]'
    samples = prometheus.instant(f"last_over_time({selector})")
    faults = [f"{name}: {fault}" for sample in samples for fault in _label_faults(signal, sample.labels)]
    if not _expected(signal, moment):
        return faults
    if not samples:
        return [f"{name}: does not arrive"]
    if signal.everywhere:
        up = f'last_over_time(up{{job="{signal.job}"}}[{window_seconds}s])'
        targets = {sample.labels["instance"] for sample in prometheus.instant(up)}
        missing = targets - {sample.labels["instance"] for sample in samples}
        faults += [f"{name}: does not arrive from {instance}" for instance in sorted(missing)]
    if moment == "load" and signal.rises_under_load:
        rise = sum(sample.value for sample in prometheus.instant(f"increase({selector})"))
        if rise <= 0:
            faults.append(f"{name}: does not rise under load")
    return faults


def _expected(signal: Signal, moment: Moment) -> bool:
    return signal.present == "always" or (signal.present == "load" and moment == "load")


def _label_faults(signal: Signal, labels: Mapping[str, str]) -> list[str]:
    unexpected = labels.keys() - signal.labels.keys() - IMPLICIT_LABELS
    faults = [f"unexpected label {label}={labels[label]!r}" for label in sorted(unexpected)]
    for label, pattern in signal.labels.items():
        value = labels.get(label)
        if value is not None and not re.fullmatch(pattern, value):
            faults.append(f"label {label}={value!r} does not match {pattern}")
    return faults
