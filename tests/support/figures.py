"""A figure, its sweep, and a lab that simulates the sweep, for the tests of ``lab reproduce``.

Only the lab is replaced. The sweep is read, planned, judged, stored and turned into repeats by the real code.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from corda_lab.figures.figure import Figure, read_figure
from corda_lab.figures.repeats import Repeat
from corda_lab.lab.settings import Settings
from corda_lab.results import folders, stored
from corda_lab.results.stored import StoredRun
from corda_lab.steps.entry import CalibrationEntry
from corda_lab.sweeps import command
from corda_lab.sweeps.command import SweepRequest
from support import simulation
from support.runs import step_file, steps_of
from support.sweeps import SimulatedSweep, store_file

SWEEP = """\
description: Bursts of flows, from one user to sixteen.
workload: iou
vary:
  shape.database: [h2, postgres]
  load.users: [1, 4, 16]
x: load.users
repeats: 3
warm_up: {min: 5s, max: 5s}
measure: 10s
quick:
  vary: {shape.database: [h2], load.users: [1, 16]}
"""

FIGURE = """\
title: Throughput of IOU flows
source: {document: iitb-2019, place: "section 3.4.1, figure 3.4"}
words:
  - The throughput rises with the <b>load</b> and then it is flat.
  - Open-source Corda struggles to cross 10 TPS.
conditions: Corda 3.3, H2, heap 4 GB
published:
  - {id: IIT-3.4, x: requests in 1s, y: throughput, by: edition}
sweep: bursts
chart: {x: load.users, y: throughput, by: shape.database, anchor: {load.users: 1}}
claims:
  - name: rises
    says: 1
    because: Twice is more than any scatter.
    ratio: throughput
    of: {load.users: 16}
    to: {load.users: 1}
    within: [2, null]
    on_published: {of: {x: 70}, to: {x: 1}, verdict: held}
  - name: below ten
    says: 2
    level: throughput
    at: {load.users: best}
    within: [null, 10]
    on_published: {at: {x: 60}, verdict: held}
  - name: firewall
    says: ours
    ratio: throughput
    of: {load.users: 16}
    to: {load.users: 1}
    within: [0.5, null]
    needs: {enterprise: true}
deviations:
  - published: three machines
    here: one machine
    because: one workstation
    touches: absolute
  - published: PartyC accepts
    here: PartyB accepts
    because: two parties are enough
    touches: [rises]
"""
"""Simulated: the first claim holds (3.4 ×), the second does not (20 flows/s), the third cannot be tested."""

SECOND = FIGURE.replace("Throughput of IOU flows", "Latency of IOU flows").replace(
    "y: throughput, by: shape", "y: p50, by: shape"
)


def write_figures(folder: Path, figures: Mapping[str, str] | None = None, sweep: str = SWEEP) -> Path:
    """Write figures and the sweep ``bursts`` into a folder, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    sweeps = folder / "sweeps"
    sweeps.mkdir(exist_ok=True)
    (sweeps / "bursts.yaml").write_text(sweep, encoding="utf-8")
    for name, text in ({"one": FIGURE} if figures is None else figures).items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder


def read(folder: Path) -> list[Figure]:
    """Read the figures that ``write_figures`` wrote."""
    return [read_figure(path, folder / "sweeps") for path in sorted(folder.glob("*.yaml"))]


@dataclass
class SimulatedLab:
    """Stands in for the lab of ``lab sweep``: a sweep that begins or is resumed is a simulated run a moment later."""

    results: Path
    sweep: Path
    """The sweep file that unfinished sweeps have."""
    system: SimulatedSweep = field(default_factory=lambda: SimulatedSweep(with_stages=False))
    moved: list[Mapping[int, float]] = field(default_factory=list)
    """For each run to come, how many times longer the same work takes at the end of a repeat, by its number."""
    requests: list[SweepRequest] = field(default_factory=list)
    resumed: list[str] = field(default_factory=list)

    def begin(self, request: SweepRequest, settings: Settings) -> Path:
        """Simulate a sweep and store its run."""
        self.requests.append(request)
        file = command.read(request)
        identity = f"202601{len(self.requests):02d}T030405Z-{file.run_name}"
        # Every run has its own day, and other noise.
        origin = simulation.ORIGIN + 86_400 * len(self.requests)
        system = replace(self.system, identity=identity, noise=0.02, speed=1 + 0.01 * len(self.requests))
        folder = store_file(self.results, system, file, origin=origin)
        if self.moved:
            calibrate(folder, self.moved.pop(0))
        return folder

    def resume(self, request: SweepRequest, settings: Settings) -> Path:
        """Finish an unfinished sweep, which is then gone."""
        assert request.file is not None
        self.resumed.append(request.file)
        folders.remove(self.results / request.file)
        return self.begin(replace(request, file=str(self.sweep)), settings)


def calibrate(run: Path, moved: Mapping[int, float]) -> None:
    """Give the steps of a stored run calibrations that move in the middle of a repeat, by its number, if at all."""
    content = steps_of(run)
    for step in content:
        own = [one for one in content if one["repeat"] == step["repeat"]]
        number = sorted(own, key=lambda one: one["window"]["load_started_at"]).index(step)
        factor = moved.get(step["repeat"], 1.0)
        before, after = (4.0 * (factor if reading >= len(own) else 1.0) for reading in (2 * number, 2 * number + 1))
        entry = CalibrationEntry(work="zlib", before={0: before, 1: before}, after={0: after, 1: after})
        step["calibration"] = entry.model_dump(mode="json")
    for step in content:
        folders.write_json(step_file(run, step["index"]), step)


def stored_run(results: Path, folder: Path, *, quick: bool = False, system: SimulatedSweep | None = None) -> StoredRun:
    """Store a simulated run of the sweep ``bursts`` in a folder of figures, and read it."""
    file = command.read(SweepRequest(str(folder / "sweeps" / "bursts.yaml"), quick=quick))
    identity = f"20260102T030405Z-{file.run_name}"
    chosen = replace(system or SimulatedSweep(with_stages=False), identity=identity)
    return stored.read(store_file(results, chosen, file))


def with_latency_only(repeat: Repeat) -> Repeat:
    """A repeat whose points have no other value than a latency."""
    points = [one.model_copy(update={"metrics": {"p50": 100.0}}) for one in repeat.points]
    return repeat.model_copy(update={"points": points})
