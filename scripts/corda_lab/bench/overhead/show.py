"""The results of ``lab bench overhead`` as rows of tables and as lines, and on the terminal."""

from collections.abc import Iterator

from corda_lab.bench.overhead import effect
from corda_lab.bench.overhead.measurement import SUBJECT_NAMES, OverheadBench, OverheadMeasurement, Switchable
from corda_lab.bench.peers.compare import mean
from corda_lab.bench.peers.show import CHECK_TITLES, check_row
from corda_lab.bench.peers.show import in_words as interval
from corda_lab.steps.reasons import Reason, kind, sentence
from corda_lab.text import tables, ui

Row = tuple[str, ...]

TITLES = ("switched", "flows/s on", "flows/s off", "on ÷ off", "pairs", "what it costs")
UNKNOWN = "–"


def progress(measured: OverheadMeasurement) -> None:
    """Print one measurement when it is done."""
    if measured.problem:
        ui.warn(f"{name_of(measured)}: {measured.problem}")
        return
    seen = f"{measured.rows} rows, {measured.scrapes} scrapes, {measured.stage_rows} stage rows"
    ui.note(f"{name_of(measured)}: {measured.flows_per_second:.2f} flows/s; {seen}")
    for each in measured.warnings:
        ui.warn(f"{name_of(measured)}: {each}")


def results(bench: OverheadBench) -> None:
    """Print the ratios, what failed, the warnings and the verdict."""
    _show("Throughput with each part on and off, paired, with 95 % intervals", TITLES, rows(bench), numbers=TITLES[1:5])
    for title, lines in (
        ("Failed measurements, whose pairs are left out", list(problem_lines(bench))),
        ("Warnings", list(warning_lines(bench))),
    ):
        if lines:
            ui.console.print(f"\n{title}", style="bold", markup=False)
        for line in lines:
            ui.note(line)
    if checks := effect.checks(bench):
        _show("What the lab promises", CHECK_TITLES, [check_row(check) for check in checks])
    ui.console.print()


def _show(title: str, titles: Row, lines: list[Row], *, numbers: Row = ()) -> None:
    ui.console.print(f"\n{title}", style="bold", markup=False)
    made = tables.table(*titles, numbers=numbers)
    for line in lines:
        made.add_row(*line)
    tables.show(made)


def rows(bench: OverheadBench) -> list[Row]:
    """One row for every subject: mean throughput on and off, the ratio, and what it shows."""
    return [_row(bench, subject) for subject in bench.subjects]


def _row(bench: OverheadBench, subject: Switchable) -> Row:
    found = effect.ratio(bench, subject)
    pairs = str(found.pairs) if found else "0"
    return (
        SUBJECT_NAMES[subject],
        _mean(effect.rates(bench, subject, "on")),
        _mean(effect.rates(bench, subject, "off")),
        interval(found),
        pairs,
        effect.in_words(found),
    )


def name_of(measured: OverheadMeasurement) -> str:
    """``block 2, place 3, stage timing off``."""
    place = f"block {measured.block}, place {measured.place}"
    return f"{place}, {SUBJECT_NAMES[measured.subject]} {measured.state}"


def problem_lines(bench: OverheadBench) -> Iterator[str]:
    """One line for each measurement that failed, with its reason."""
    for each in bench.measurements:
        if each.problem:
            yield f"{name_of(each)}: {each.problem}"


def warning_lines(bench: OverheadBench) -> Iterator[str]:
    """One line for each kind of warning, with the number of measurements that have it."""
    found: dict[tuple[object, ...], list[Reason]] = {}
    for each in bench.measurements:
        for one in each.warnings:
            found.setdefault(kind(one), []).append(one)
    for same in found.values():
        yield f"{len(same)} of {len(bench.measurements)} measurements: {sentence(same)}"


def _mean(values: dict[int, float]) -> str:
    found = mean(list(values.values()))
    return UNKNOWN if found is None else f"{found:.2f}"
