"""The loads by hand, those of the Locust web UI, without a run: lists them, and keeps the rows of those without an end.

They are in the volume of the load generator, which limits their number and size. ``by_hand_run`` makes runs of them.
"""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeVar

import httpx

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
from corda_lab.text import ui
from corda_lab.text.words import plural
from lab_workload.plan import PLAN_SUFFIX, Plan
from lab_workload.run_end import RunEnd
from lab_workload.web_ui import IDENTITY, STATUS_PATH, WebUiState, WebUiStatus

END_SUFFIX = ".end.json"
NEWEST = "latest"
"""The name of the newest load, as it is that of the newest run."""
ALL = "all"

ANSWER_SECONDS_MAX = 10.0
POLL_SECONDS = 1.0
STOPPING_REMEDY = "Wait until its last flows have ended."
RUNNING_REMEDY = "Wait until it has ended, or stop it there: its flows would be counted too."
_REMEDIES: dict[WebUiState, str] = {
    "set-up": RUNNING_REMEDY,
    "running": RUNNING_REMEDY,
    "stopping": STOPPING_REMEDY,
}

CUT_OFF = "its load generator was killed, so the requests that were in flight have no row"
DELETED = "the lab was deleted before a run was made of it"

State = Literal["in progress", "ready", "cut off"]
"""Of a load by hand. cut off: its generator did not end it, so no run can be made of it, but its rows are kept."""

Content = TypeVar("Content")


@dataclass(frozen=True)
class HandLoad:
    """A load by hand in the volume."""

    identity: str
    plan: Plan | None
    """None if its file is damaged."""
    end: RunEnd | None
    """None if it is in progress, or if its generator was killed."""
    rows: int
    in_progress: bool = False

    @property
    def state(self) -> State:
        if self.in_progress:
            return "in progress"
        return "ready" if self.end is not None and self.plan is not None else "cut off"

    @property
    def began_at(self) -> datetime:
        return datetime.strptime(self.identity, "web-%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)

    @property
    def workload(self) -> str | None:
        return self.plan.load.workload if self.plan else None

    @property
    def users(self) -> int | None:
        """The last number of its users."""
        if self.end is not None:
            return self.end.users
        return self.plan.load.places if self.plan else None

    def listed(self, number: int) -> dict[str, object]:
        """Return the load as ``lab list --json`` shows it. ``number`` is its number for ``lab report web-ui``."""
        return {
            "run": self.identity,
            "kind": "web UI",
            "finished": False,
            "number": number,
            "state": self.state,
            "workload": self.workload,
            "started_at": self.began_at.isoformat(timespec="seconds"),
            "users": self.users,
            "requests": self.rows,
        }

    def run_id(self, name: str | None = None) -> str:
        """The id of the run that is made of it: the time of its start, and ``web-`` with the name of its workload."""
        usual = re.sub(r"[^a-z0-9-]", "-", f"web-{(self.workload or 'load').lower()}")[: folders.NAME_LENGTH_MAX]
        return f"{self.identity.removeprefix('web-')}-{name or usual}"


def chosen(loads: Sequence[HandLoad], name: str) -> Sequence[HandLoad]:
    """Return the load with a number, an id or the beginning of one; the newest, or all. Raises LabError."""
    if not loads:
        raise LabError(
            "There is no load of the Locust web UI without a run", "Start one there. `scripts/lab list` shows all."
        )
    if name == ALL:
        return loads[::-1]
    if name == NEWEST:
        return loads[:1]
    if name.isdecimal():
        found = [load for number, load in enumerate(loads, start=1) if number == int(name)]
    else:
        found = [load for load in loads if load.identity.startswith(name)]
    if len(found) != 1:
        raise LabError(
            f"{name!r} names {len(found) or 'no'} loads of the Locust web UI", "`scripts/lab list` shows all."
        )
    return found


def uncollected(volume: RowsVolume, in_progress: str | None = None) -> list[HandLoad]:
    """Return the loads in a volume, newest first. ``in_progress`` is the one that the web UI is at. Raises LabError."""
    texts = volume.texts_by_hand()
    identities = {name.partition(".")[0] for name in texts}
    return [
        HandLoad(
            identity,
            plan=_parsed(texts.get(f"{identity}{PLAN_SUFFIX}"), Plan.model_validate_json),
            end=_parsed(texts.get(f"{identity}{END_SUFFIX}"), RunEnd.read),
            rows=sum(int(text or 0) for name, text in texts.items() if _is_rows(name, identity)),
            in_progress=identity == in_progress,
        )
        for identity in sorted(filter(IDENTITY.fullmatch, identities), reverse=True)
    ]


def _is_rows(name: str, identity: str) -> bool:
    return name.startswith(f"{identity}.") and store.ROWS_FILE.fullmatch(name) is not None


def _parsed(text: str | None, parse: Callable[[str], Content]) -> Content | None:
    """Parse a file; None without one, or if it is damaged."""
    try:
        return None if text is None else parse(text)
    except ValueError:
        return None


def here() -> list[HandLoad]:
    """Return the loads in the volume of this checkout's lab; none without an engine, or if it does not answer."""
    if engine.probe().state is not engine.EngineState.READY:
        return []
    try:
        project.settle()
        settings = load_settings()
        status = ask_status(settings.url("LOCUST_PORT"))
        return uncollected(RowsVolume(Compose(settings)), status.id if status else None)
    except LabError as error:
        ui.error_console.print(f"loads of the web UI are not known: {error.message}", style="dim", markup=False)
        return []


def keep_rows(volume: RowsVolume, load: HandLoad, reason: str) -> Path:
    """Move a load of which no run is made to a run without results, and return its step's folder. Raises LabError."""
    options = load.plan.load if load.plan else None
    manifest = store.manifest(load.run_id(), load=options, command=f"the Locust web UI ({load.identity})")
    run = store.begin(manifest.model_copy(update={"web_ui": load.identity}))
    folder = store.new_step(run, RUN_STEP.index, RUN_STEP.key)
    began = load.began_at.isoformat(timespec="seconds")
    step = RUN_STEP.model_copy(update={"state": "interrupted", "why": reason, "began_at": began})
    store.end_step(folder, step)
    if load.plan is not None:
        atomic.write_text(folder / stored.PLAN, load.plan.model_dump_json(indent=2) + "\n")
    volume.fetch(load.identity, folder / stored.EVIDENCE)
    store.sync_rows(folder)
    rows = store.count_rows(folder)
    store.end_step(folder, step.model_copy(update={"rows": rows}))
    volume.delete(load.identity)
    ui.note(f"kept {plural(rows, 'row')} of {load.identity} in {folder}: {reason}")
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
        loads = uncollected(volume)
    except (LabError, OSError) as error:
        ui.warn(f"the rows of the web UI cannot be kept: {error}")
        return
    for load in loads:
        # The volume is deleted in any case, so one that cannot be kept takes no other one along.
        try:
            keep_rows(volume, load, DELETED)
        except (LabError, OSError) as error:
            ui.warn(f"the rows of {load.identity} cannot be kept: {error}")


def require_ended(lab: Lab, identity: str) -> None:
    """Raise LabError if a load without an end may still be in progress.

    A web UI that does not answer may be too busy to. Only without its container has the load ended for certain.
    """
    status = ask_status(lab.settings.url("LOCUST_PORT"))
    if status is not None:
        require_idle(status)
    elif any(service.name == "locust" and service.state in {"running", "paused"} for service in lab.services()):
        raise LabError(
            f"Whether {identity} has ended is not known: the Locust web UI runs, but does not answer",
            "Repeat the command when it answers. If it never does, `scripts/lab down` and `scripts/lab up` end the "
            "load and keep its rows.",
            exit_code=1,
        )


def await_stopped(url: str, seconds_max: float) -> None:
    """Wait until a load that was stopped in the web UI has ended. Raises LabError if another one is in progress."""
    deadline = time.monotonic() + seconds_max
    with ui.Ticker(every_seconds=15) as ticker:
        while (status := ask_status(url)) is not None and status.state == "stopping" and time.monotonic() < deadline:
            ticker.show("waiting until the last load of the web UI has ended")
            time.sleep(POLL_SECONDS)
    if status is not None:
        require_idle(status)


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
