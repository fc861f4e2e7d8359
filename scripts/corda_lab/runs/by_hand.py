"""The loads by hand of which no run was made yet: lists them, and keeps the rows of those that cannot become a run.

They are in the volume of the load generator, which limits their number and size. ``by_hand_run`` makes runs of them.
"""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeVar

import httpx
from pydantic import BaseModel

from corda_lab import atomic
from corda_lab.errors import LabError
from corda_lab.host import engine
from corda_lab.lab import project
from corda_lab.lab.compose import Compose
from corda_lab.lab.lab import Lab
from corda_lab.lab.settings import Settings, load_settings
from corda_lab.results import folders, store, stored
from corda_lab.results.stored import RUN_STEP
from corda_lab.runs.rows_volume import RowsVolume
from corda_lab.steps import by_hand as steps
from corda_lab.text import ui
from corda_lab.text.words import plural
from lab_workload.by_hand import (
    AFTER_SUFFIX,
    IDENTITY,
    LOAD_SUFFIX,
    REMOVED_FILE,
    STATUS_PATH,
    Counters,
    LoadByHand,
    RemovedLoad,
    RemovedLoads,
    WebUiState,
    WebUiStatus,
)
from lab_workload.run_end import RunEnd

END_SUFFIX = ".end.json"
NEWEST = "latest"
"""The name of the newest load, as it is that of the newest run."""
ALL = "all"

ANSWER_SECONDS_MAX = 10.0
POLL_SECONDS = 1.0
_REMEDIES: Mapping[WebUiState, str] = {
    "set-up": "Wait until it has ended, or stop it there: its flows would be counted too.",
    "running": "Wait until it has ended, or stop it there: its flows would be counted too.",
    "stopping": "Wait until its last flows have ended.",
    "counting": "Wait until its last flows have ended, so that they can be counted.",
}

CUT_OFF = "its load generator was killed, so the requests that were in flight have no row"
DELETED = "the lab was deleted before a run was made of it"

State = Literal["in progress", "ready", "cut off"]
"""Of a load by hand. cut off: its generator did not end it, so no run can be made of it, but its rows are kept."""

Model = TypeVar("Model", LoadByHand, RunEnd, Counters, RemovedLoads)


class ListedLoad(BaseModel):
    """A load by hand of which no run was made yet, as ``lab list`` shows it. What is not known is None."""

    run: str
    kind: str = "web UI"
    finished: bool = False
    number: int
    """Its number for ``lab report web-ui``; the newest has 1."""
    state: State
    workload: str | None
    started_at: str
    users: int | None
    requests: int


@dataclass(frozen=True)
class UncollectedLoad:
    """A load by hand in the volume. ``end`` and ``after`` are None if its generator was killed before."""

    identity: str
    load: LoadByHand | None
    """None if its file is damaged."""
    end: RunEnd | None
    after: Counters | None
    rows: int
    in_progress: bool

    @property
    def state(self) -> State:
        """Whether a run can be made of it."""
        if self.in_progress:
            return "in progress"
        return "ready" if self.end is not None and self.load is not None else "cut off"

    def listed(self, number: int) -> ListedLoad:
        return ListedLoad(
            run=self.identity,
            number=number,
            state=self.state,
            workload=self.load.plan.load.workload if self.load else None,
            started_at=began_at(self.identity).isoformat(timespec="seconds"),
            users=max(change.users for change in self.load.users) if self.load else None,
            requests=self.rows,
        )

    def run_id(self, name: str | None = None) -> str:
        """The id of the run that is made of it: the time of its start, and ``web-`` with the name of its workload."""
        found = IDENTITY.fullmatch(self.identity)
        assert found is not None
        workload = self.load.plan.load.workload if self.load else "load"
        usual = re.sub(r"[^a-z0-9-]", "-", f"web-{workload.lower()}")[: folders.NAME_LENGTH_MAX]
        again = f"-{found[2]}" if found[2] else ""
        return f"{found[1]}-{name or f'{usual}{again}'}"


@dataclass(frozen=True)
class HandLoads:
    """The loads by hand in the volume, newest first, and those that were removed to make room."""

    loads: tuple[UncollectedLoad, ...] = ()
    removed: tuple[RemovedLoad, ...] = ()

    def chosen(self, name: str) -> tuple[UncollectedLoad, ...]:
        """Return the load with a number, an id or the beginning of one; the newest, or all. Raises LabError."""
        if not self.loads:
            raise LabError(
                "There is no load of the Locust web UI without a run", "Start one there. `scripts/lab list` shows all."
            )
        if name == ALL:
            return self.loads[::-1]
        if name == NEWEST:
            return self.loads[:1]
        if name.isdecimal():
            if not 1 <= int(name) <= len(self.loads):
                raise LabError(
                    f"There is no load {name} of the Locust web UI", f"They have the numbers 1 to {len(self.loads)}."
                )
            return (self.loads[int(name) - 1],)
        found = [load for load in self.loads if load.identity == name]
        found = found or [load for load in self.loads if load.identity.startswith(name)]
        if len(found) != 1:
            raise LabError(
                f"{name!r} names {len(found) or 'no'} loads of the Locust web UI", "`scripts/lab list` shows all."
            )
        return tuple(found)


def began_at(identity: str) -> datetime:
    found = IDENTITY.fullmatch(identity)
    assert found is not None
    return datetime.strptime(found[1], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)


def uncollected(volume: RowsVolume, status: WebUiStatus | None) -> HandLoads:
    """Return the loads in a volume. ``status`` is what the web UI says; None if it does not run. Raises LabError."""
    return read_loads(volume.texts_by_hand(), None if status is None or status.state == "idle" else status.id)


def read_loads(texts: dict[str, str], in_progress: str | None) -> HandLoads:
    """Return the loads that the files of a volume describe: name → text, of rows the number of lines."""
    identities = {name.partition(".")[0] for name in texts}
    removed = _read(texts.get(REMOVED_FILE), RemovedLoads)
    return HandLoads(
        tuple(
            UncollectedLoad(
                identity=identity,
                load=_read(texts.get(f"{identity}{LOAD_SUFFIX}"), LoadByHand),
                end=_read(texts.get(f"{identity}{END_SUFFIX}"), RunEnd),
                after=_read(texts.get(f"{identity}{AFTER_SUFFIX}"), Counters),
                rows=sum(int(text or 0) for name, text in texts.items() if _is_rows(name, identity)),
                in_progress=identity == in_progress,
            )
            for identity in sorted(filter(IDENTITY.fullmatch, identities), key=_place, reverse=True)
        ),
        tuple(removed.loads) if removed else (),
    )


def _place(identity: str) -> tuple[datetime, int]:
    found = IDENTITY.fullmatch(identity)
    return began_at(identity), int((found and found[2]) or 1)


def _is_rows(name: str, identity: str) -> bool:
    return name.startswith(f"{identity}.") and store.ROWS_FILE.fullmatch(name) is not None


def _read(text: str | None, model: type[Model]) -> Model | None:
    """Parse a file; None without one, or if it is damaged."""
    try:
        return None if text is None else model.read(text)
    except ValueError:
        return None


def here() -> HandLoads:
    """Return the loads in the volume of this checkout's lab; none without an engine, or if it does not answer."""
    if engine.probe().state is not engine.EngineState.READY:
        return HandLoads()
    try:
        project.settle()
        settings = load_settings()
        return uncollected(RowsVolume(Compose(settings)), ask_status(settings.url("LOCUST_PORT")))
    except LabError as error:
        ui.error_console.print(f"loads of the web UI are not known: {error.message}", style="dim", markup=False)
        return HandLoads()


def keep_rows(volume: RowsVolume, one: UncollectedLoad, reason: str) -> Path:
    """Move a load of which no run is made to a run without results, and return its step's folder. Raises LabError."""
    options = steps.options_of(one.load, one.load.users[0].users) if one.load else None
    manifest = store.manifest(one.run_id(), load=options, command=f"the Locust web UI ({one.identity})")
    run = store.begin(manifest.model_copy(update={"started": "web UI"}))
    folder = store.new_step(run, RUN_STEP.index, RUN_STEP.key)
    began = began_at(one.identity).isoformat(timespec="seconds")
    step = RUN_STEP.model_copy(update={"state": "interrupted", "why": reason, "began_at": began})
    store.end_step(folder, step)
    if one.load is not None and options is not None:
        plan = one.load.plan.model_copy(update={"load": options})
        atomic.write_text(folder / stored.PLAN, plan.model_dump_json(indent=2) + "\n")
    volume.fetch(one.identity, folder / stored.EVIDENCE)
    store.sync_rows(folder)
    rows = store.count_rows(folder)
    store.end_step(folder, step.model_copy(update={"rows": rows}))
    volume.delete(one.identity)
    ui.note(f"kept {plural(rows, 'row')} of {one.identity} in {folder}: {reason}")
    return folder


def keep_all(settings: Settings) -> None:
    """End and move all loads to ``results/`` before their volume is deleted. Failures are warnings."""
    compose = Compose(settings)
    try:
        status = ask_status(settings.url("LOCUST_PORT"))
        if status is not None and status.state != "idle":
            ui.note("stopping the load of the web UI")
            compose.run("stop", "locust", check=False)
        volume = RowsVolume(compose)
        loads = uncollected(volume, None).loads
    except (LabError, OSError) as error:
        ui.warn(f"the rows of the web UI cannot be kept: {error}")
        return
    for one in loads:
        # The volume is deleted in any case, so one that cannot be kept takes no other one along.
        try:
            keep_rows(volume, one, DELETED)
        except (LabError, OSError) as error:
            ui.warn(f"the rows of {one.identity} cannot be kept: {error}")


def told_kept(loads: Sequence[UncollectedLoad]) -> None:
    if loads:
        ui.note(f"kept in the lab's volume: {plural(len(loads), 'load')} of the web UI without a run")


def require_ended(compose: Lab, identity: str) -> None:
    """Raise LabError if a load without an end may still be in progress.

    A web UI that does not answer may be too busy to. Only without its container has the load ended for certain.
    """
    status = ask_status(compose.settings.url("LOCUST_PORT"))
    if status is not None:
        require_idle(status)
    elif any(service.name == "locust" and service.state in {"running", "paused"} for service in compose.services()):
        raise LabError(
            f"Whether {identity} has ended is not known: the Locust web UI runs, but does not answer",
            "Repeat the command when it answers. If it never does, `scripts/lab down` and `scripts/lab up` end the "
            "load and keep its rows.",
            exit_code=1,
        )


def await_idle(url: str, seconds_max: float) -> WebUiStatus | None:
    """Wait until the web UI has counted its last load, and return what it does. Raises LabError if it is at work."""
    deadline = time.monotonic() + seconds_max
    with ui.Ticker(every_seconds=15) as ticker:
        while True:
            status = ask_status(url)
            if status is None or status.state not in ("counting", "stopping"):
                break
            if time.monotonic() > deadline:
                break
            ticker.show("waiting until the web UI has counted its last load")
            time.sleep(POLL_SECONDS)
    if status is not None:
        require_idle(status)
    return status


def ask_status(url: str) -> WebUiStatus | None:
    """Return what the web UI does; None if it does not answer."""
    try:
        answer = httpx.get(f"{url}{STATUS_PATH}", timeout=ANSWER_SECONDS_MAX, trust_env=False)
        return WebUiStatus.read(answer.text) if answer.is_success else None
    except (httpx.HTTPError, ValueError):
        return None


def require_idle(status: WebUiStatus) -> None:
    """Raise LabError if the web UI is at work on a load."""
    if status.state != "idle":
        which = f"{status.id}, {status.state}" if status.id else status.state
        raise LabError(f"A load of the Locust web UI is in progress ({which})", _REMEDIES[status.state])
