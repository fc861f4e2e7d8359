"""``lab reproduce``: measures figures, judges their claims, and writes their pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from corda_lab.errors import LabError
from corda_lab.figures import book, repeats, words
from corda_lab.figures.claims import NOT_TESTABLE
from corda_lab.figures.figure import Figure, Form, Places, by_sweep, metrics_of
from corda_lab.figures.judge import ClaimVerdict, judge, lacks
from corda_lab.figures.measure import form_of, is_enterprise_image, keep, measure, sweep_of
from corda_lab.figures.repeats import (
    ESTIMATES,
    Machine,
    Repeat,
    Site,
    days,
    digest_of,
    duration,
    kept,
    machines,
    seconds_of,
)
from corda_lab.host import machine
from corda_lab.lab.settings import Settings
from corda_lab.results import folders, stored
from corda_lab.sweeps import command as sweeps_command
from corda_lab.sweeps.command import SweepRequest
from corda_lab.text import tables, ui
from corda_lab.text.ui import say
from corda_lab.text.words import listed, plural
from lab_workload.names import did_you_mean

REPORT = "report.html"
HERE = Places()


@dataclass(frozen=True)
class Options:
    """The options of ``lab reproduce``. ``add`` is the number of further repeats; None for those of the sweep file."""

    form: Form = "full"
    add: int | None = None
    replace: bool = False


def list_figures(settings: Settings, places: Places = HERE) -> None:
    """Print every figure in one line, with its time and its last verdicts, and the total."""
    figures = book.of(places.read_figures(), repeats.read(places.repeats), settings)
    table = tables.table("figure", "document", "claims", "quick", "full", "last verdicts", numbers=["claims"])
    for each in figures.figures:
        fields = each.figure.fields
        first = figures.first_of(fields.sweep).name
        lacking = untestable(each.figure, settings)
        last = f"{words.counts(each.verdicts)} ({each.form}, {days(each.repeats[-1:])})" if each.form else "–"
        if len(lacking) == len(fields.claims):
            times, last = ["–", "–"], f"{lacking[0].why}: {lacking[0].command}".removesuffix(": ")
        elif first != each.name:
            times = [f"with {first}", ""]
        else:
            seconds = [figures.seconds(each, "quick"), figures.seconds(each, "full")]
            times = [duration(time) if time else "–" for time in seconds]
        table.add_row(each.name, words.TITLES[fields.source.document], str(len(fields.claims)), *times, last)
    tables.show(table)
    say(f"\n{words.total(figures.figures)}\n{ESTIMATES}")


def one(name: str, options: Options, settings: Settings, places: Places = HERE) -> None:
    """Measure a figure, and judge it and all others that its sweep serves. Raises LabError."""
    figures = {figure.name: figure for figure in places.read_figures()}
    if name not in figures:
        remedy = "`./scripts/lab reproduce list` lists all figures."
        raise LabError(f"There is no figure {name!r}{did_you_mean(name, figures)}", remedy)
    figure = figures[name]
    together = by_sweep(figures.values())[figure.fields.sweep]
    introduce(figure)
    lacking = untestable(figure, settings)
    if len(lacking) == len(figure.fields.claims):
        for verdict in lacking:
            ui.note(words.joined(f"{verdict.claim.name}: {verdict.why}", verdict.command))
        say("Nothing was measured: no claim of this figure can be tested here.")
        return
    before = kept(figure, repeats.read(places.repeats))
    for line in before.outdated_words:
        ui.note(f"not counted: {line}")
    request = request_of(figure, options.add, before.of(options.form), options)
    sweep = sweeps_command.read(request)
    seconds = seconds_of(sweep, settings, before.of(options.form))
    say(f"  {plural(sweep.fields.repeats, 'repeat')}, {options.form}: about {duration(seconds)}")
    run, new = measure(request, together, settings, places)
    after = kept(figure, repeats.read(places.repeats)).of(options.form)
    if earlier := [repeat for repeat in after if repeat.run not in {each.run for each in new}]:
        say(
            f"Judged from {plural(len(after), 'repeat')}: {len(new)} of now, "
            f"{len(earlier)} of {days(earlier)} ({machines(earlier)})"
        )
    tell([figure, *(other for other in together if other.name != name)], after, run)


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
    say(f"{figure.fields.title} ({words.source(figure.fields)})")
    for sentence in figure.fields.words:
        say(f'  "{sentence.text}"')


def tell(figures: Sequence[Figure], given: Sequence[Repeat], folder: Path) -> None:
    """Print the verdicts of the first figure, write the pages of all, and name the others."""
    first, *others = (judge(figure, given) for figure in figures)
    page, *_ = (book.write_page(each, folder, report=REPORT) for each in (first, *others))
    table = tables.table("claim", "verdict", "here", "asked for", "published values", "")
    for verdict in first.verdicts:
        claim = verdict.claim
        elsewhere = verdict.command if verdict.verdict == NOT_TESTABLE else ""
        why = words.joined(words.why(verdict), elsewhere, words.found(verdict))
        table.add_row(claim.name, verdict.label, words.here(verdict), words.asked(claim), words.published(verdict), why)
    ui.console.print()
    tables.show(table)
    if others:
        names = [f"{each.name} ({words.counts(each.verdicts)})" for each in others]
        say(f"  also judged from this run: {listed(names)}")
    ui.console.print(f"[bold]page[/bold]         {page}")


def from_run(name: str, places: Places = HERE) -> None:
    """Judge the figures of an existing run, from its repeats alone, and store these. Raises LabError."""
    run = stored.read(folders.find_run(name, results=places.results))
    sweep = sweep_of(run)
    figures = by_sweep(places.read_figures()).get(run.sweep.name)
    if not figures:
        raise LabError(
            f"{run.identity}: no figure is judged from the sweep {run.sweep.name!r}",
            "`scripts/lab reproduce list` shows the figures.",
        )
    own = keep(run, figures, places).repeats
    changed = list(dict.fromkeys(name for repeat in own for name in repeats.changed_files(repeat.files)))
    if digest_of(sweep) != digest_of(figures[0].in_form(form_of(run))):
        changed.insert(0, figures[0].sweep.source.path.name)
    if changed:
        ui.warn(f"{listed(changed)}: changed since this run; its repeats count for no later verdict")
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
    figures = places.read_figures()
    before = repeats.read(places.repeats)
    requests = missing(figures, before, options, settings)
    say_all(requests, settings, before)
    failed = []
    for name, request in requests.items():
        together = by_sweep(figures)[name]
        ui.rule(f"{name}: {', '.join(figure.name for figure in together)}")
        try:
            run, _ = measure(request, together, settings, places)
        except LabError as error:
            ui.print_error(error)
            failed.append(name)
            continue
        tell(together, kept(together[0], repeats.read(places.repeats)).of(options.form), run)
    write_book(places)
    after = repeats.read(places.repeats)
    say(words.total([judge(figure, kept(figure, after).of(options.form)) for figure in figures]))
    if failed:
        ui.warn(f"not measured: {', '.join(failed)}; the same command tries them again")
    return not failed


def missing(
    figures: Sequence[Figure], before: Sequence[Repeat], options: Options, settings: Settings
) -> dict[str, SweepRequest]:
    """Return what ``all`` has to measure, by sweep: the repeats that it lacks on a machine like this one.

    Repeats without a metric of a figure count for all claims that need nothing of it.
    """
    here = Machine(cpu=machine.cpu_model(), cores=machine.cores() or 1, memory_bytes=machine.memory_total_bytes())
    requests = {}
    for name, together in by_sweep(figures).items():
        if all(len(untestable(figure, settings)) == len(figure.fields.claims) for figure in together):
            ui.note(f"{name}: no claim of {', '.join(figure.name for figure in together)} can be tested here")
            continue
        if options.form == "quick" and together[0].sweep.short is None:
            ui.note(f"{name}: has no short form")
            continue
        current = kept(together[0], before).of(options.form)
        # A few megabytes of memory, which the text of a machine does not have, make no difference.
        on_machine = [repeat for repeat in current if str(repeat.machine) == str(here)]
        lacking = [metrics for repeat in on_machine if (metrics := repeat.lacking(metrics_of(together)))]
        if lacking:
            metrics = list(dict.fromkeys(metric for metrics in lacking for metric in metrics))
            ui.note(f"{name}: {plural(len(lacking), 'repeat')} without {listed(metrics)}")
        count = together[0].in_form(options.form).fields.repeats - len(on_machine) + len(lacking)
        if count > 0:
            requests[name] = request_of(together[0], count, current, options)
        else:
            ui.note(f"{name}: has its {plural(len(on_machine), 'repeat')}")
    return requests


def say_all(requests: Mapping[str, SweepRequest], settings: Settings, before: Sequence[Repeat]) -> None:
    """Print what will be measured and how long it takes, before it begins."""
    if not requests:
        say("Every figure that can be tested here has its repeats.")
        return
    table = tables.table("sweep", "repeats", "time", numbers=["repeats", "time"])
    total = 0.0
    for name, request in requests.items():
        sweep = sweeps_command.read(request)
        digest = digest_of(sweep)
        seconds = seconds_of(sweep, settings, [repeat for repeat in before if repeat.sweep_digest == digest])
        total += seconds
        table.add_row(name, str(sweep.fields.repeats), duration(seconds))
    tables.show(table)
    until = datetime.now().astimezone() + timedelta(seconds=total)
    say(
        f"{ESTIMATES}\nAbout {duration(total)} (until {until:%d %b %H:%M}). "
        "Ctrl-C loses only the step that is measured; the same command continues."
    )


def untestable(figure: Figure, settings: Settings) -> list[ClaimVerdict]:
    """Return the claims of a figure that cannot be tested on this machine, with the nodes of these settings."""
    site = Site(machine.cores() or 1, is_enterprise_image(settings.recorded_image))
    return [
        verdict
        for verdict in judge(figure, []).verdicts
        if verdict.verdict == NOT_TESTABLE and (not verdict.claim.needs or lacks(verdict.claim.needs, site, figure))
    ]
