"""``lab reproduce``: measures figures, judges their claims, and writes their pages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from corda_lab.errors import LabError
from corda_lab.figures import book, store, words
from corda_lab.figures.file import Figure, Places, by_sweep, metrics_of
from corda_lab.figures.judge import ClaimVerdict, Judged, judge, judged, judged_in, judged_latest, lacks
from corda_lab.figures.measure import is_enterprise_image, keep, measure
from corda_lab.figures.repeat import Form, Repeat, RepeatMachine, Site, days, duration, machines
from corda_lab.figures.store import ESTIMATES, FULL, QUICK, corda_versions, digest_of, in_form, run_form, seconds_of
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
class Options:
    """The options of ``lab reproduce``. ``add`` is the number of further repeats; None for those of the sweep file."""

    form: Form = FULL
    add: int | None = None
    replace: bool = False


def say(text: str) -> None:
    """Print a line as it is."""
    ui.console.print(text, markup=False)


def list_figures(settings: Settings, places: Places = HERE) -> None:
    """Print every figure in one line, with its time and its last verdicts, and the total."""
    stored = store.read(places.repeats)
    figures = book.Book(tuple(judged_latest(figure, stored) for figure in places.read_figures()), settings)
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
            seconds = (figures.seconds(each, form) for form in (QUICK, FULL))
            times = [duration(time) if time else "–" for time in seconds]
        table.add_row(each.name, words.TITLES[fields.source.document], str(len(fields.claims)), *times, last)
    tables.show(table)
    say(f"\n{words.total(figures.figures)}\n{ESTIMATES}")


def one(name: str, options: Options, settings: Settings, places: Places = HERE) -> None:
    """Measure a figure, and judge it and all others that its sweep serves. Raises LabError."""
    figure = places.find_figure(name)
    together = by_sweep(places.read_figures())[figure.fields.sweep]
    introduce(figure)
    if not is_testable(figure, settings):
        for verdict in untestable(figure, settings):
            ui.note(f"{verdict.claim.name}: {words.summary(verdict)}")
        say("Nothing was measured: no claim of this figure can be tested here.")
        return
    sweep = in_form(figure.sweep, options.form)
    kept = store.kept(figure.sweep, store.read(places.repeats))
    for line in store.outdated_words(kept.outdated):
        ui.note(f"not counted: {line}")
    before = kept.of(options.form)
    count = options.add or sweep.fields.repeats
    seconds = seconds_of(with_repeats(sweep, count), settings, before)
    say(f"  {plural(count, 'repeat')}, {options.form}: about {duration(seconds)}")
    run, repeats = measure(request_of(figure.sweep, count, before, options), together, settings, places)
    after = store.kept(figure.sweep, store.read(places.repeats)).of(options.form)
    new = {repeat.id for repeat in repeats}
    if earlier := [repeat for repeat in after if repeat.id not in new]:
        say(
            f"Judged from {plural(len(after), 'repeat')}: {len(repeats)} of now, "
            f"{len(earlier)} of {days(earlier)} ({machines(earlier)})"
        )
    tell([figure, *(other for other in together if other.name != name)], after, run)


def request_of(sweep: SweepFile, count: int, before: Sequence[Repeat], options: Options) -> SweepRequest:
    """Return what ``lab sweep`` is asked for. Repeats that are added have other seeds than those before."""
    after = [sweep.fields.seed + len(before), *(each.seed + 1 for each in before if each.seed is not None)]
    file = str(sweep.source.path)
    return SweepRequest(file, None, options.replace, options.form == QUICK, count, max(after))


def introduce(figure: Figure) -> None:
    """Print title, source and words of a figure."""
    ui.console.print(f"[bold]{figure.name}[/bold]: ", end="")
    say(f"{figure.fields.title} ({words.source(figure.fields)})")
    for sentence in figure.fields.words:
        say(f'  "{sentence.text}"')


def tell(figures: Sequence[Figure], repeats: Sequence[Repeat], folder: Path) -> None:
    """Print the verdicts of the first figure, write the pages of all, and name the others."""
    first, *others = (judged(figure, repeats) for figure in figures)
    page, *_ = (book.write_page(each, folder, report=REPORT) for each in (first, *others))
    tell_claims(first)
    if others:
        names = [f"{each.name} ({words.counts(each.verdicts)})" for each in others]
        say(f"  also judged from this run: {listed(names)}")
    ui.console.print(f"[bold]page[/bold]         {page}")


def tell_claims(figure: Judged) -> None:
    """Print the verdict on every claim of a figure."""
    ui.console.print()
    table = tables.table("claim", "verdict", "")
    for verdict in figure.verdicts:
        table.add_row(verdict.claim.name, words.label(verdict), words.summary(verdict))
    tables.show(table)


def from_run(name: str, places: Places = HERE) -> None:
    """Judge the figures of an existing run, from its repeats alone, and store these. Raises LabError."""
    run = results_stored.read(folders.find_run(name, results=places.results))
    sweep = store.sweep_of(run)
    figures = by_sweep(places.read_figures()).get(run.sweep.name)
    if not figures:
        raise LabError(
            f"{run.identity}: no figure is judged from the sweep {run.sweep.name!r}",
            "`scripts/lab reproduce list` shows the figures.",
        )
    repeats = keep(run, figures, places).repeats
    changed = list(dict.fromkeys(name for repeat in repeats for name in store.changed_files(repeat.files)))
    if digest_of(sweep) != digest_of(in_form(figures[0].sweep, run_form(run))):
        changed.insert(0, figures[0].sweep.source.path.name)
    if changed:
        ui.warn(f"{listed(changed)}: changed since this run; its repeats count for no later verdict")
    for figure in figures:
        introduce(figure)
        tell([figure], repeats, run.folder)


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
    before = store.read(places.repeats)
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
        repeats = store.kept(together[0].sweep, store.read(places.repeats)).of(options.form)
        tell(together, repeats, run)
    write_book(places)
    kept = store.read(places.repeats)
    say(words.total([judged_in(figure, options.form, kept) for figure in figures]))
    if failed:
        ui.warn(f"not measured: {', '.join(failed)}; the same command tries them again")
    return not failed


def missing(
    figures: Sequence[Figure], kept: Sequence[Repeat], options: Options, settings: Settings
) -> dict[str, SweepRequest]:
    """Return what ``all`` has to measure: the repeats that each sweep lacks on a machine like this one.

    Repeats without a metric of a figure count for all claims that need nothing of it.
    """
    here = RepeatMachine(cpu=machine.cpu_model(), cores=machine.cores() or 1, memory_bytes=machine.memory_total_bytes())
    requests = {}
    for name, together in by_sweep(figures).items():
        whole = together[0].sweep
        if not any(is_testable(figure, settings) for figure in together):
            ui.note(f"{name}: no claim of {', '.join(figure.name for figure in together)} can be tested here")
            continue
        if options.form == QUICK and whole.fields.quick is None:
            ui.note(f"{name}: has no short form")
            continue
        stored = store.kept(whole, kept).of(options.form)
        # A few megabytes of memory, which the text of a machine does not have, make no difference.
        on_machine = [repeat for repeat in stored if str(repeat.machine) == str(here)]
        lacking = [metrics for repeat in on_machine if (metrics := repeat.lacking(metrics_of(together)))]
        if lacking:
            metrics = list(dict.fromkeys(metric for metrics in lacking for metric in metrics))
            ui.note(f"{name}: {plural(len(lacking), 'repeat')} without {listed(metrics)}")
        count = in_form(whole, options.form).fields.repeats - len(on_machine) + len(lacking)
        if count <= 0:
            ui.note(f"{name}: has its {plural(len(on_machine), 'repeat')}")
            continue
        requests[name] = request_of(whole, count, stored, options)
    return requests


def say_all(requests: Mapping[str, SweepRequest], settings: Settings, kept: Sequence[Repeat]) -> None:
    """Print what will be measured and how long it takes, before it begins."""
    if not requests:
        say("Every figure that can be tested here has its repeats.")
        return
    table = tables.table("sweep", "repeats", "time", numbers=["repeats", "time"])
    total = 0.0
    for name, request in requests.items():
        sweep = sweeps_command.read(request)
        digest = digest_of(sweep)
        seconds = seconds_of(sweep, settings, [repeat for repeat in kept if repeat.sweep_digest == digest])
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
    versions = corda_versions(figure.sweep.fields) or [settings["CORDA_VERSION"]]
    platforms = [platform for version in versions if (platform := platform_version(version)) is not None]
    enterprise = is_enterprise_image(settings.recorded_image)
    site = Site(machine.cores() or 1, max(platforms, default=None), enterprise)
    return [
        verdict
        for verdict in judge(figure, [])
        if verdict.verdict == NOT_TESTABLE
        and (verdict.claim.only_published or lacks(verdict.claim.needs, site, figure))
    ]


def is_testable(figure: Figure, settings: Settings) -> bool:
    """Return whether any claim of a figure can be tested here."""
    return len(untestable(figure, settings)) < len(figure.fields.claims)
