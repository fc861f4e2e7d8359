"""``lab reproduce``: measures figures, judges their claims, and writes their pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from corda_lab.errors import LabError
from corda_lab.figures import book, repeats, words
from corda_lab.figures.figure import TITLES, Figure, Form, Places, by_sweep, metrics_of
from corda_lab.figures.judge import Judged, judge, lacks, measure_command
from corda_lab.figures.measure import keep, measure
from corda_lab.figures.repeats import Repeat, Site, days, is_enterprise_image, kept
from corda_lab.host import machine
from corda_lab.lab.settings import Settings
from corda_lab.results import folders, stored
from corda_lab.sweeps import command as sweeps_command
from corda_lab.sweeps.command import SweepRequest
from corda_lab.sweeps.file import SweepFile
from corda_lab.sweeps.plan import run_time, steps_of
from corda_lab.text import tables, ui
from corda_lab.text.ui import say
from corda_lab.text.words import length, listed, plural
from lab_workload.names import did_you_mean

REPORT = "report.html"
FORMS: Sequence[Form] = ("quick", "full")
HERE = Places()
ESTIMATES = (
    "Times are estimates for two cores, without the time of image builds. Set-ups, backlogs, bursts and counted flows "
    "take as long as the sweep file says (beside)."
)
"""What the times of figures leave out."""


@dataclass(frozen=True)
class Options:
    """The options of ``lab reproduce``. ``add`` is the number of further repeats; None for those of the sweep file."""

    form: Form = "full"
    add: int | None = None
    replace: bool = False


def list_figures(settings: Settings, places: Places = HERE) -> None:
    """Print every figure in one line, with its time and its last verdicts, and the total."""
    figures = book.judged_figures(places.read_figures(), repeats.read(places.repeats))
    table = tables.table("figure", "document", "sweep", *FORMS, "claims")
    for each in figures:
        forms = [form for form in FORMS if form == "full" or each.figure.sweep.short is not None]
        times = {form: minutes(seconds_of(each.figure.in_form(form), settings)) for form in forms}
        last = f" ({each.form}, {days(each.repeats[-1:])})" if each.form else ""
        document = TITLES[each.figure.fields.source.document]
        cells = [times.get(form, "–") for form in FORMS]
        table.add_row(each.name, document, each.figure.sweep.name, *cells, words.counts(each.verdicts) + last)
    tables.show(table)
    say(f"\n{words.total(figures)}. Figures of one sweep are measured together.\n{ESTIMATES}")


def one(name: str, options: Options, settings: Settings, places: Places = HERE) -> None:
    """Measure a figure, and judge it and all others that its sweep serves. Raises LabError."""
    figures = {figure.name: figure for figure in places.read_figures()}
    if name not in figures:
        remedy = "`./scripts/lab reproduce list` lists all figures."
        raise LabError(f"There is no figure {name!r}{did_you_mean(name, figures)}", remedy)
    figure = figures[name]
    introduce(figure)
    if not is_testable(figure, settings):
        for verdict in judge(figure, []).verdicts:
            ui.note(f"{verdict.claim.name}: {verdict.why}")
        say(
            "Nothing was measured: no claim of this figure can be tested here. "
            "docs/reproduction.md, Not testable here, has the command for an image of Corda Enterprise."
        )
        return
    before = kept(figure, repeats.read(places.repeats))
    for line in before.outdated:
        ui.note(f"not counted: {line}")
    others = [other for other in by_sweep(figures.values())[figure.sweep.name] if other.name != name]
    request = request_of(figure, options.add, before.of(options.form), options)
    measure_and_tell([figure, *others], request, options, settings, places)


def measure_and_tell(
    together: Sequence[Figure], request: SweepRequest, options: Options, settings: Settings, places: Places
) -> None:
    """Measure the repeats of a request, and judge the figures of its sweep from all that are stored in this form."""
    run = measure(request, together, settings, places)
    after = kept(together[0], repeats.read(places.repeats)).of(options.form)
    say(f"Judged from {plural(len(after), 'repeat')}, {days(after)}")
    tell(together, after, run)


def request_of(figure: Figure, count: int | None, before: Sequence[Repeat], options: Options) -> SweepRequest:
    """Return what ``lab sweep`` is asked for. Repeats that are added have other seeds than those before."""
    fields = figure.in_form(options.form).fields
    seeds = [fields.seed + len(before), *(repeat.seed + 1 for repeat in before if repeat.seed is not None)]
    return SweepRequest(
        str(figure.sweep.source.path),
        replace=options.replace,
        quick=options.form == "quick",
        repeats=count or fields.repeats,
        seed=max(seeds),
    )


def introduce(figure: Figure) -> None:
    ui.console.print(f"[bold]{figure.name}[/bold]: ", end="")
    say(f"{figure.fields.title} ({figure.fields.place})")
    for sentence in figure.fields.words:
        say(f'  "{sentence.text}"')


def tell(figures: Sequence[Figure], given: Sequence[Repeat], folder: Path) -> None:
    """Print the verdicts of the first figure, write the pages of all, and name the others."""
    first, *others = (judge(figure, given) for figure in figures)
    page, *_ = (book.write_page(each, folder, report=REPORT) for each in (first, *others))
    table = tables.table("claim", "verdict", "here", "asked for", "published values", "")
    for verdict in first.verdicts:
        why = words.joined(verdict.why, verdict.found.text if verdict.found else "")
        cells = words.here(verdict), words.asked(verdict.claim), words.published(verdict)
        table.add_row(verdict.claim.name, verdict.label, *cells, why)
    ui.console.print()
    tables.show(table)
    if next_step := next_words(first):
        say(next_step)
    if others:
        names = [f"{each.name} ({words.counts(each.verdicts)})" for each in others]
        say(f"  also judged from this run: {listed(names)}")
    ui.console.print(f"[bold]page[/bold]         {page}")


def next_words(judged: Judged) -> str:
    """Return the command with the fewest further repeats that would decide a claim; empty if none does."""
    further = {each.claim.name: each.further for each in judged.verdicts if each.n and each.further}
    least = min(further.values(), default=0)
    command = measure_command(judged.name, judged.form, least)
    names = listed([name for name, count in further.items() if count == least])
    return f"At this scatter, `{command}` would decide {names}." if least else ""


def from_run(name: str, places: Places = HERE) -> None:
    """Judge the figures of an existing run, from its repeats alone, and store these. Raises LabError."""
    run = stored.read(folders.find_run(name, results=places.results))
    figures = by_sweep(places.read_figures()).get(run.sweep.name)
    if not figures:
        raise LabError(
            f"{run.identity}: no figure is judged from the sweep {run.sweep.name!r}",
            "`scripts/lab reproduce list` shows the figures.",
        )
    own = keep(run, figures, places).repeats
    for line in kept(figures[0], own).outdated:
        ui.warn(f"{line}; they count for no later verdict")
    for figure in figures:
        introduce(figure)
        tell([figure], own, run.folder)


def write_book(places: Places = HERE) -> None:
    """Write the book of all stored repeats: the document with its pictures, and the page. Raises LabError."""
    with ui.phase("Writing the book"):
        paths = book.write(places)
    for path in paths:
        ui.note(str(path))


def everything(options: Options, settings: Settings, places: Places = HERE) -> bool:
    """Measure every figure that can be tested here and has not its repeats yet. Returns whether all could be measured.

    A sweep that fails does not keep the others from being measured.
    """
    served = by_sweep(places.read_figures())
    before = repeats.read(places.repeats)
    table = tables.table("sweep", "repeats", "time", numbers=["time"])
    requests: dict[str, SweepRequest] = {}
    total = 0.0
    for name, together in served.items():
        count, why = missing(together, before, options, settings)
        seconds = 0.0
        if count:
            current = kept(together[0], before).of(options.form)
            requests[name] = request_of(together[0], count, current, options)
            seconds = seconds_of(sweeps_command.read(requests[name]), settings)
        total += seconds
        table.add_row(name, why, minutes(seconds) if count else "–")
    tables.show(table)
    until = datetime.now().astimezone() + timedelta(seconds=total)
    say(
        f"{ESTIMATES}\nAbout {minutes(total)} (until {until:%d %b %H:%M}). Ctrl-C loses only the step that is measured."
    )
    failed = []
    for name, request in requests.items():
        ui.rule(f"{name}: {', '.join(figure.name for figure in served[name])}")
        try:
            measure_and_tell(served[name], request, options, settings, places)
        except LabError as error:
            ui.print_error(error)
            failed.append(name)
    write_book(places)
    if failed:
        ui.warn(f"not measured: {', '.join(failed)}; the same command tries them again")
    return not failed


def missing(
    together: Sequence[Figure], before: Sequence[Repeat], options: Options, settings: Settings
) -> tuple[int, str]:
    """Return how many repeats the figures of a sweep lack on a machine like this one, and why.

    Repeats without a metric of a figure count for all claims that need nothing of it.
    """
    if not any(is_testable(figure, settings) for figure in together):
        return 0, "no claim can be tested here"
    if options.form == "quick" and together[0].sweep.short is None:
        return 0, "has no short form"
    # A few megabytes of memory, which the words do not have, make no difference.
    here = repeats.machine_words(machine.cpu_model(), machine.cores() or 1, machine.memory_total_bytes())
    own = [repeat for repeat in kept(together[0], before).of(options.form) if repeat.machine == here]
    complete = [repeat for repeat in own if not repeat.lacking(metrics_of(together))]
    without = f", {len(own) - len(complete)} more without a metric" if len(own) > len(complete) else ""
    count = together[0].in_form(options.form).fields.repeats
    return max(0, count - len(complete)), f"has {len(complete)} of {count}{without}"


def seconds_of(sweep: SweepFile, settings: Settings) -> float:
    return run_time(steps_of(sweep), settings, fresh=sweep.fields.fresh).seconds_max


def minutes(seconds: float) -> str:
    """Return an estimated duration in whole minutes: ``15 min``, ``4 h 21 min``."""
    return length(60 * max(1, round(seconds / 60)))


def is_testable(figure: Figure, settings: Settings) -> bool:
    """Return whether any claim of a figure can be tested on this machine, with the nodes of these settings."""
    site = Site(machine.cores() or 1, is_enterprise_image(settings.recorded_image))
    return any(not lacks(claim.needs, figure, site) for claim in figure.fields.claims if claim.kind != "untested")
