"""``lab reproduce``: measures figures, judges their claims, and writes their pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from corda_lab.errors import LabError
from corda_lab.figures import book, page, store, summary
from corda_lab.figures.collect import is_enterprise_image
from corda_lab.figures.file import Figure, Places, by_sweep
from corda_lab.figures.forms import (
    ESTIMATES,
    FULL,
    QUICK,
    corda_versions,
    digest_of,
    form_of,
    in_form,
    seconds_of,
    sweep_of,
)
from corda_lab.figures.judge import ClaimVerdict, Judged, judge, judged, judged_in, judged_latest, lacks
from corda_lab.figures.measure import keep, measure
from corda_lab.figures.metrics import lacking, metrics_of
from corda_lab.figures.repeat import Form, Repeat, RepeatMachine
from corda_lab.figures.verdict import NOT_TESTABLE
from corda_lab.host import machine
from corda_lab.lab.cordapps import platform_version
from corda_lab.lab.settings import Settings
from corda_lab.results import folders
from corda_lab.results import stored as results_stored
from corda_lab.sweeps import command as sweeps_command
from corda_lab.sweeps.command import SweepRequest
from corda_lab.sweeps.file import SweepFile, with_repeats
from corda_lab.text import tables, ui
from corda_lab.text.words import listed, plural

REPORT = "report.html"
HERE = Places()


@dataclass(frozen=True)
class Wanted:
    """The options of ``lab reproduce``. ``add`` is the number of further repeats; None for those of the sweep file."""

    form: Form = FULL
    add: int | None = None
    replace: bool = False


def list_figures(settings: Settings, places: Places = HERE) -> None:
    """Print every figure in one line, with its time and its last verdicts, and the total."""
    stored = store.read(places.repeats)
    found = [judged_latest(figure, stored) for figure in places.read_figures()]
    table = tables.table("figure", "document", "claims", "quick", "full", "last verdicts", numbers=["claims"])
    first: dict[str, str] = {}
    for one in found:
        table.add_row(*line_of(one, first.setdefault(one.figure.fields.sweep, one.name), settings))
    tables.show(table)
    ui.console.print(f"\n{summary.total(found)}\n{ESTIMATES}", markup=False)


def line_of(one: Judged, first: str, settings: Settings) -> tuple[str, ...]:
    """Return the line of a figure. ``first`` is the first figure that its sweep serves, whose line has the time."""
    fields = one.figure.fields
    lacked = untestable(one.figure, settings)
    begin = (one.name, summary.TITLES[fields.source.document], str(len(fields.claims)))
    if len(lacked) == len(fields.claims):
        return (*begin, "–", "–", f"{lacked[0].why}: {lacked[0].command}".removesuffix(": "))
    if first != one.name:
        return (*begin, f"with {first}", "", verdicts(one))
    return (*begin, minutes(one, QUICK, settings), minutes(one, FULL, settings), verdicts(one))


def minutes(one: Judged, form: Form, settings: Settings) -> str:
    """Return how long the sweep of a figure takes in a form; a dash if it has no such form."""
    if form == QUICK and one.figure.sweep.fields.quick is None:
        return "–"
    return summary.duration(seconds_of(in_form(one.figure.sweep, form), settings, one.repeats_of(form)))


def verdicts(one: Judged) -> str:
    """Return the claims of a figure by verdict, with form and day."""
    if one.form is None:
        return "–"
    return f"{summary.counts(one.verdicts)} ({one.form}, {summary.days(one.repeats[-1:])})"


def one(name: str, wanted: Wanted, settings: Settings, places: Places = HERE) -> None:
    """Measure a figure, and judge it and all others that its sweep serves. Raises LabError."""
    figure = places.find_figure(name)
    together = by_sweep(places.read_figures())[figure.fields.sweep]
    introduce(figure)
    if not is_testable(figure, settings):
        for verdict in untestable(figure, settings):
            ui.note(f"{verdict.claim.name}: {summary.line(verdict)}")
        ui.console.print("Nothing was measured: no claim of this figure can be tested here.", markup=False)
        return
    sweep = in_form(figure.sweep, wanted.form)
    kept = store.kept(figure.sweep, store.read(places.repeats))
    tell_outdated(kept)
    before = kept.of(wanted.form)
    count = wanted.add or sweep.fields.repeats
    seconds = seconds_of(with_repeats(sweep, count), settings, before)
    ui.console.print(f"  {plural(count, 'repeat')}, {wanted.form}: about {summary.duration(seconds)}", markup=False)
    outcome = measure(request_of(figure.sweep, count, before, wanted), together, settings, places)
    after = store.kept(figure.sweep, store.read(places.repeats)).of(wanted.form)
    tell_origin(outcome.repeats, after)
    tell([figure, *(other for other in together if other.name != name)], after, outcome.runs[-1])


def request_of(sweep: SweepFile, count: int, before: Sequence[Repeat], wanted: Wanted) -> SweepRequest:
    """Return what ``lab sweep`` is asked for. Repeats that are added have other seeds than those before."""
    after = [sweep.fields.seed + len(before), *(one.seed + 1 for one in before if one.seed is not None)]
    file = str(sweep.source.path)
    return SweepRequest(file, None, wanted.replace, wanted.form == QUICK, count, max(after))


def introduce(figure: Figure) -> None:
    """Print title, source and words of a figure."""
    fields = figure.fields
    source = f"{summary.TITLES[fields.source.document]}, {fields.source.place}"
    ui.console.print(f"[bold]{figure.name}[/bold]: ", end="")
    ui.console.print(f"{fields.title} ({source})", markup=False)
    for sentence in fields.words:
        ui.console.print(f'  "{sentence.text}"', markup=False)


def tell_origin(new: Sequence[Repeat], every: Sequence[Repeat]) -> None:
    """Print where the repeats that are judged come from, if not all of them were measured now."""
    known = {one.id for one in new}
    earlier = [one for one in every if one.id not in known]
    if earlier:
        ui.console.print(
            f"Judged from {plural(len(every), 'repeat')}: {len(new)} of now, {len(earlier)} of {summary.days(earlier)} "
            f"({summary.machines(earlier)})",
            markup=False,
        )


def tell_outdated(kept: store.Kept) -> None:
    """Print which stored repeats do not count any more, and why."""
    for line in summary.outdated_words(kept.outdated):
        ui.note(f"not counted: {line}")


def tell(figures: Sequence[Figure], repeats: Sequence[Repeat], folder: Path) -> None:
    """Print the verdicts of the first figure, write the pages of all, and name the others."""
    found = [judged(figure, repeats) for figure in figures]
    pages = [page.write(one, folder, report=REPORT) for one in found]
    tell_claims(found[0])
    if others := [f"{one.name} ({summary.counts(one.verdicts)})" for one in found[1:]]:
        ui.console.print(f"  also judged from this run: {listed(others)}", markup=False)
    ui.console.print(f"[bold]page[/bold]         {pages[0]}")


def tell_claims(one: Judged) -> None:
    """Print the verdict on every claim of a figure."""
    ui.console.print()
    table = tables.table("claim", "verdict", "")
    for verdict in one.verdicts:
        table.add_row(verdict.claim.name, summary.label(verdict), summary.line(verdict))
    tables.show(table)


def from_run(name: str, places: Places = HERE) -> None:
    """Judge the figures of an existing run, from its repeats alone, and store these. Raises LabError."""
    run = results_stored.read(folders.find_run(name, results=places.results))
    sweep = sweep_of(run)
    figures = by_sweep(places.read_figures()).get(run.sweep.name)
    if not figures:
        raise LabError(
            f"{run.identity}: no figure is judged from the sweep {run.sweep.name!r}",
            "`scripts/lab reproduce list` shows the figures.",
        )
    if digest_of(sweep) != digest_of(in_form(figures[0].sweep, form_of(run))):
        ui.warn(
            f"{figures[0].sweep.source.path.name} has changed since this run; its repeats count for no later verdict"
        )
    repeats = keep(run, figures, places).repeats
    if names := list(dict.fromkeys(name for one in repeats for name in store.changed_files(one.files))):
        ui.warn(f"{listed(names)}: changed since this run; its repeats count for no later verdict")
    for figure in figures:
        introduce(figure)
        found = judged(figure, repeats)
        tell_claims(found)
        ui.console.print(f"[bold]page[/bold]         {page.write(found, run.folder, report=REPORT)}\n")


def write_book(places: Places = HERE) -> None:
    """Write the book of all stored repeats: the document with its pictures, and the page. Raises LabError."""
    with ui.phase("Writing the book"):
        paths = book.write(places)
    for path in paths:
        ui.note(str(path))


def everything(wanted: Wanted, settings: Settings, places: Places = HERE) -> bool:
    """Measure every figure that can be tested here and has not its repeats yet. Returns whether all could be measured.

    A sweep that fails does not keep the others from being measured.
    """
    figures = places.read_figures()
    before = store.read(places.repeats)
    requests = missing(figures, before, wanted, settings)
    say_all(requests, settings, before)
    failed = []
    for name, request in requests.items():
        together = by_sweep(figures)[name]
        ui.rule(f"{name}: {', '.join(figure.name for figure in together)}")
        try:
            outcome = measure(request, together, settings, places)
        except LabError as error:
            ui.print_error(error)
            failed.append(name)
            continue
        repeats = store.kept(together[0].sweep, store.read(places.repeats)).of(wanted.form)
        tell(together, repeats, outcome.runs[-1])
    write_book(places)
    kept = store.read(places.repeats)
    ui.console.print(summary.total([judged_in(figure, wanted.form, kept) for figure in figures]), markup=False)
    if failed:
        ui.warn(f"not measured: {', '.join(failed)}; the same command tries them again")
    return not failed


def missing(
    figures: Sequence[Figure], kept: Sequence[Repeat], wanted: Wanted, settings: Settings
) -> dict[str, SweepRequest]:
    """Return what ``all`` has to measure: the repeats that each sweep lacks on a machine like this one."""
    here = this_machine()
    requests = {}
    for name, together in by_sweep(figures).items():
        whole = together[0].sweep
        if not any(is_testable(figure, settings) for figure in together):
            ui.note(f"{name}: no claim of {', '.join(one.name for one in together)} can be tested here")
            continue
        if wanted.form == QUICK and whole.fields.quick is None:
            ui.note(f"{name}: has no short form")
            continue
        stored = store.kept(whole, kept).of(wanted.form)
        own = [one for one in stored if is_this_machine(one, here)]
        lacks = in_form(whole, wanted.form).fields.repeats - len(with_all_values(name, own, together))
        if lacks <= 0:
            ui.note(f"{name}: has its {plural(len(own), 'repeat')}")
            continue
        requests[name] = request_of(whole, lacks, stored, wanted)
    return requests


def with_all_values(name: str, repeats: Sequence[Repeat], figures: Sequence[Figure]) -> list[Repeat]:
    """Return the repeats of a sweep that lack no metric of its figures. Says what others lack.

    The others count for all claims that need nothing of what they lack.
    """
    names = metrics_of(figure.fields for figure in figures)
    lacks = [lacking(one, names) for one in repeats]
    if missing_names := list(dict.fromkeys(metric for found in lacks for metric in found)):
        count = sum(bool(found) for found in lacks)
        ui.note(f"{name}: {plural(count, 'repeat')} without {listed(missing_names)}")
    return [one for one, found in zip(repeats, lacks, strict=True) if not found]


def say_all(requests: Mapping[str, SweepRequest], settings: Settings, kept: Sequence[Repeat]) -> None:
    """Print what will be measured and how long it takes, before it begins."""
    if not requests:
        ui.console.print("Every figure that can be tested here has its repeats.", markup=False)
        return
    table = tables.table("sweep", "repeats", "time", numbers=["repeats", "time"])
    seconds = 0.0
    for name, request in requests.items():
        sweep = sweeps_command.read(request)
        own = seconds_of(sweep, settings, [one for one in kept if one.sweep_digest == digest_of(sweep)])
        seconds += own
        table.add_row(name, str(sweep.fields.repeats), summary.duration(own))
    tables.show(table)
    ui.console.print(ESTIMATES, markup=False)
    until = datetime.now().astimezone() + timedelta(seconds=seconds)
    ui.console.print(
        f"About {summary.duration(seconds)} (until {until:%d %b %H:%M}). Ctrl-C loses only the step that is measured; "
        "the same command continues.",
        markup=False,
    )


def this_machine() -> RepeatMachine:
    """Return this machine as repeats store it."""
    return RepeatMachine(cpu=machine.cpu_model(), cores=machine.cores() or 1, memory_bytes=machine.memory_total_bytes())


def is_this_machine(repeat: Repeat, here: RepeatMachine) -> bool:
    """Return whether a repeat was measured on a machine like this one. A few megabytes of memory make no difference."""
    there = repeat.machine
    return (there.cpu, there.cores, _gigabytes(there)) == (here.cpu, here.cores, _gigabytes(here))


def _gigabytes(one: RepeatMachine) -> int | None:
    return None if one.memory_bytes is None else round(one.memory_bytes / 1e9)


def expected(sweep: SweepFile, settings: Settings) -> Repeat:
    """Return what is known of a repeat before it is measured: its machine and its nodes. It has no points."""
    versions = corda_versions(sweep.fields) or [settings["CORDA_VERSION"]]
    platforms = (platform_version(version) for version in versions)
    return Repeat(
        sweep=sweep.name,
        form=FULL,
        repeat=1,
        at="",
        run="",
        lab_version="",
        commit=None,
        machine=this_machine(),
        images={},
        platform=max((version for version in platforms if version is not None), default=None),
        enterprise=is_enterprise_image(settings.recorded_image),
        sweep_digest="",
        points=[],
    )


def untestable(figure: Figure, settings: Settings) -> list[ClaimVerdict]:
    """Return the claims of a figure that cannot be tested here."""
    repeat = expected(figure.sweep, settings)
    return [
        one
        for one in judge(figure, [])
        if one.verdict == NOT_TESTABLE and (one.claim.only_published or lacks(one.claim.needs, repeat, figure))
    ]


def is_testable(figure: Figure, settings: Settings) -> bool:
    """Return whether any claim of a figure can be tested here."""
    return len(untestable(figure, settings)) < len(figure.fields.claims)
