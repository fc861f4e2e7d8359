"""``lab list`` and ``lab report --web-ui``: the loads that were started in the Locust web UI, and the runs of them."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from corda_lab.errors import LabError
from corda_lab.text import tables, ui
from corda_lab.text.durations import parse_duration
from corda_lab.text.words import plural

if TYPE_CHECKING:
    from corda_lab.runs.by_hand import HandLoads
    from corda_lab.runs.by_hand_run import Made

WebUiOption = Annotated[
    bool,
    typer.Option(
        "--web-ui",
        help="Make a run of a load that was started in the Locust web UI. RUN is then its number in `lab list`, its "
        "id, or all. Default: the newest.",
    ),
]
WarmUpOption = Annotated[
    str | None,
    typer.Option(help="With --web-ui: length of the warm-up, such as 15s. Default: until throughput is steady."),
]
DurationOption = Annotated[
    str | None,
    typer.Option(help="With --web-ui: length of the measuring window, such as 1m. Default: the rest of the load."),
]
NameOption = Annotated[
    str | None, typer.Option(help="With --web-ui: name of the run. Default: web- and that of the workload.")
]


def show_loads(found: "HandLoads") -> None:
    """Print the loads of which no run was made yet, and those that were removed to make room."""
    if found.loads:
        ui.console.print(
            "Started in the Locust web UI, without a run; make one with `scripts/lab report --web-ui [NUMBER]`:",
            markup=False,
        )
        numbers = ("number", "users", "requests")
        table = tables.table("number", "load", "started", "workload", "users", "requests", "state", numbers=numbers)
        for number, load in enumerate(found.loads, start=1):
            line = load.listed(number)
            users = "–" if line.users is None else str(line.users)
            values = (line.run, line.started_at, line.workload or "not known", users, f"{line.requests:,}", line.state)
            table.add_row(str(number), *values, style="yellow" if line.state == "cut off" else None)
        tables.show(table)
    if found.removed:
        last = found.removed[-1]
        requests = "" if last.requests is None else f", {plural(last.requests, 'request')}"
        ui.console.print(
            f"removed to make room: {plural(len(found.removed), 'load')} of the web UI, the last {last.id}"
            f" ({last.workload or 'workload not known'}{requests}); WEB_LOADS_MAX and WEB_ROWS_MAX_MIB in .env limit"
            " them",
            style="yellow",
            markup=False,
        )


def require_none(**options: str | None) -> None:
    """Raise LabError if an option for loads of the web UI is given."""
    for option, value in options.items():
        if value is not None:
            flag = f"--{option.replace('_', '-')}"
            raise LabError(f"{flag}: is only for loads of the web UI", "Add --web-ui, or leave it out.")


def report(load: str, *, warm_up: str | None, duration: str | None, name: str | None, as_json: bool) -> None:
    """Make runs of loads of the web UI, and print them as ``lab run`` does. Status 1 if one failed, or has no run."""
    from corda_lab.lab import lock, project
    from corda_lab.lab.settings import load_settings
    from corda_lab.runs import by_hand_run
    from corda_lab.steps.by_hand import WantedWindow

    window = WantedWindow(
        None if warm_up is None else parse_duration(warm_up, option="--warm-up"),
        None if duration is None else parse_duration(duration, option="--duration", seconds_min=1.0),
    )
    wanted = by_hand_run.Wanted(load, window, name)
    ui.console.quiet = as_json
    project.settle()
    settings = load_settings()
    try:
        with lock.held(settings.project):
            made = by_hand_run.report(wanted, settings)
    finally:
        ui.console.quiet = False
    if as_json:
        shown = [_as_dict(one) for one in made]
        print(json.dumps(shown if len(shown) > 1 else shown[0], indent=2))
    else:
        for one in made:
            _show(one)
    if not all(one.step is not None and one.step.verdict.passed for one in made):
        raise typer.Exit(1)


def _show(one: "Made") -> None:
    from corda_lab.cli.run import show_run

    if one.step is not None:
        show_run(one.folder, one.step)
    else:
        ui.console.print(
            f"no run can be made of it; its rows are kept: `scripts/lab report {one.folder.name}`",
            style="yellow",
            markup=False,
        )


def _as_dict(one: "Made") -> dict[str, object]:
    from corda_lab.report import unfinished
    from corda_lab.results import folders

    if one.step is None:
        return unfinished.report(one.folder).as_dict()
    return {**folders.read_object(one.folder / "summary.json"), "report": str(one.folder / "report.html")}
