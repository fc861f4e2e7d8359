"""The document of what the long suites have stored.

``docs/reliability.md`` is that of the files in ``docs/reliability/``.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from corda_lab import atomic
from corda_lab.bench.file import BenchFile
from corda_lab.bench.markdown import bullets, circumstances, paragraphs, table
from corda_lab.chaos import document as chaos_document
from corda_lab.chaos.measurement import CHAOS, ChaosFile
from corda_lab.errors import LabError
from corda_lab.knobs.labels import option_label
from corda_lab.reliability import goals, pictures, stored
from corda_lab.reliability.abuse_file import AbuseFile
from corda_lab.reliability.aftermath import HEAP_CHANGE_PERCENT_MAX, READY_SECONDS_MAX, Aftermath
from corda_lab.reliability.browser_file import BrowserFile
from corda_lab.reliability.growth import BOUND_PERCENT, COUNT_BOUND, Growth
from corda_lab.reliability.requests_file import RequestsFile
from corda_lab.reliability.soak_file import SoakFile
from corda_lab.text import ui
from corda_lab.text.words import length, milliseconds, percent, plural, size, wrapped

INTRODUCTION = """\
# Reliability

`scripts/lab test --suite chaos`, `--suite soak` and `--suite slow` write this document, from what they store in
`docs/reliability/`. Do not edit it.
"""

NOTHING = "There are no stored results yet.\n"

SOAK_INTRODUCTION = f"""\
A load of two hours at 70 % of the throughput of closed load with 32 users. Nothing may grow but the ledger. The target
is that the whole 95 % interval of each slope is *within* ±{BOUND_PERCENT:g} % an hour, or ±{COUNT_BOUND:g} an hour of
what is counted. *beyond* is a failure. *cannot tell* means that the interval reaches over the bound; *seen from* is the
smallest slope that would have stood out from the scatter. If the slopes of latency cannot be told, the soak does not
prove that part of the target. [methodology.md](methodology.md#the-soak) defines the values, and says which have to be
told.
"""

REQUESTS_INTRODUCTION = f"""\
Requests that [Schemathesis](https://schemathesis.readthedocs.io/) generates from the OpenAPI document of the bridge so
that they violate it. As many have to be refused as are wanted, and none may be answered with a status from 500 on but
503, or start a flow. Afterwards, the bridge is ready within {READY_SECONDS_MAX:g} s, and its heap is within
{HEAP_CHANGE_PERCENT_MAX:g} % of what it was. Until 28 November 2026, a third of the operations got requests that named
a node that does not exist, and were correct otherwise; and some violated nothing, and were answered with 200.
[bridge.md](bridge.md) has its limits.
"""

ABUSE_INTRODUCTION = f"""\
Clients that hold back the end of what they send, take all connections, go silent, send what is no request, or ask for
what takes memory; and a node that never answers ([bridge.md](bridge.md) has what each of them gets). While such clients
hold on to the bridge, and after each attack, the same process has to be ready within {READY_SECONDS_MAX:g} s. After all
of them, no flow was started, the ledgers are as before, and the heap is within {HEAP_CHANGE_PERCENT_MAX:g} % of what it
was.
"""

BROWSER_INTRODUCTION = """\
A web page of another origin, open in Chromium on the machine of the lab, tries to start and to read what it can reach
on loopback. 403 and 421 are refusals, and *blocked* is an answer that the browser withholds from the page, or a request
that it does not send. It may lead its user to the web UI, which does nothing by itself. Afterwards, as after the other
attacks, no flow was started, and the bridge is ready and has its heap.
"""

SOAK_TITLES = ("value", "where", "points", "mean", "% an hour", "95 % interval", "seen from", "counts as", "verdict")

F = TypeVar("F", bound=BenchFile)


def write(files: Sequence[Path], output: Path) -> None:
    """Write the document of stored files, of all that ``lab chaos`` has stored if none is given. Raises LabError."""
    chosen = list(files) or sorted(CHAOS.glob("*.json"))
    if not chosen:
        raise LabError(f"There is no result in {CHAOS}", "Make trials: scripts/lab chaos --trials 1")
    atomic.write_text(output, document([stored.read(path) for path in chosen]))
    ui.note(f"{output} has {plural(len(chosen), 'result')}")


def publish() -> None:
    """Write ``docs/reliability.md`` and its pictures again. Raises LabError."""
    files = stored.read_all()
    pictures.draw(_of(SoakFile, files))
    atomic.write_text(stored.DOCUMENT, document(files))
    ui.note(f"{stored.DOCUMENT} has what is in {stored.FOLDER}; commit both")


def document(files: Sequence[BenchFile]) -> str:
    """Return the document: a chapter for every kind of files. What is missing is said."""
    chapters = (
        ("Faults", faults_chapter(_of(ChaosFile, files))),
        ("The soak", soak_chapter(_of(SoakFile, files))),
        ("Bad requests", requests_chapter(_of(RequestsFile, files))),
        ("Attacks on the bridge", abuse_chapter(_of(AbuseFile, files))),
        ("A web page in the browser", browser_chapter(_of(BrowserFile, files))),
    )
    return "\n".join([INTRODUCTION, *(f"## {title}\n\n{text or NOTHING}" for title, text in chapters)])


def _of(kind: type[F], files: Sequence[BenchFile]) -> list[F]:
    return [file for file in files if isinstance(file, kind)]


def faults_chapter(files: Sequence[ChaosFile]) -> str:
    """Return the chapter of all trials, after what they have to come to."""
    if not files:
        return ""
    versions = dict.fromkeys(file.environment.versions.corda for file in files)
    parts = []
    for corda in versions:
        what = (
            f"What the campaign of `scripts/lab test --suite chaos` has to have seen, and has, on Corda {corda}. "
            "[chaos.md](chaos.md#campaigns-of-days) says which trials count."
        )
        parts += [wrapped(what), table(goals.TITLES, list(goals.rows(corda, files)))]
        parts += bullets("These do not count", goals.left_out(corda, files))
    return f"{paragraphs(parts)}\n{chaos_document.chapter(files)}"


def soak_chapter(files: Sequence[SoakFile]) -> str:
    """Return the chapter of all soaks."""
    return "\n".join([SOAK_INTRODUCTION, *map(soak_section, files)]) if files else ""


def soak_section(file: SoakFile) -> str:
    """Return the section of one soak."""
    share = percent(100 * file.rate_per_second / file.peak_per_second)
    load = (
        f"{file.workload}, {file.rate_per_second:.2f} flows/s for {length(file.window_seconds)}, after "
        f"{length(file.warm_up_seconds)} of warm-up: {share} of {file.peak_per_second:.2f}"
    )
    outcomes = ", ".join(f"{count:,} {name}" for name, count in file.outcomes.items())
    growth = "; ".join(f"{node} {size(value)}" for node, value in file.ledger_bytes_per_flow.items()) or "not known"
    left = "" if file.connections_left is None else f" Connections of clients after the load: {file.connections_left}."
    failures = file.failures
    parts = [
        f"### {file.id}, on {option_label('database', file.database)}",
        circumstances([file], load),
        table(SOAK_TITLES, [soak_row(one) for one in file.growths]),
        *([pictures.link(file)] if pictures.is_drawn(file) else []),
        wrapped(f"Requests: {outcomes}. What one flow adds to the database: {growth}.{left}"),
        *(bullets("Failed", failures) if failures else ["Passed: nothing was seen to grow but the ledger."]),
        *bullets("What cannot be told", file.untold),
        *bullets("Warnings", file.warnings),
    ]
    return paragraphs(parts)


def soak_row(one: Growth) -> tuple[str, ...]:
    """One value of a soak as a row."""
    slope = one.slope
    found = ("–", "–", "–", "–")
    if slope is not None:
        interval = f"{slope.low:+.2f} to {slope.high:+.2f}"
        seen_from = f"{one.seen_from_percent:.2f} %"
        found = (f"{slope.estimate:+.2f}", interval, seen_from, f"{slope.n_effective:.0f} of {slope.n}")
    return (one.name, one.place or "–", one.statistic, _amount(one), *found, one.verdict)


def _amount(one: Growth) -> str:
    if one.mean is None:
        return "–"
    if one.unit == "count":
        return f"{one.mean:,.1f}"
    return size(one.mean) if one.unit == "bytes" else milliseconds(one.mean)


def requests_chapter(files: Sequence[RequestsFile]) -> str:
    """Return the chapter of all bad requests."""
    return "\n".join([REQUESTS_INTRODUCTION, *map(requests_section, files)]) if files else ""


def requests_section(file: RequestsFile) -> str:
    """Return the section of one campaign of bad requests."""
    load = f"{plural(sum(file.answers.values()), 'request')} to {plural(file.operations, 'operation')}"
    return paragraphs(
        [
            f"### {file.id}",
            circumstances([file], f"{load} in {length(file.seconds)}"),
            table(("HTTP status", "answers"), [(str(status), f"{n:,}") for status, n in sorted(file.answers.items())]),
            "\n".join(f"- {line}" for line in requests_lines(file)),
            *(bullets("Failed", file.failures) if file.failures else ["Passed."]),
        ]
    )


def requests_lines(file: RequestsFile) -> Iterator[str]:
    """What was asked of the bridge, and whether it kept to it."""
    yield f"answered with an error: {file.refused:,}, of {file.wanted:,} that were wanted"
    yield from aftermath_lines(file)


def abuse_chapter(files: Sequence[AbuseFile]) -> str:
    """Return the chapter of all attacks."""
    return "\n".join([ABUSE_INTRODUCTION, *map(abuse_section, files)]) if files else ""


def abuse_section(file: AbuseFile) -> str:
    """Return the section of one campaign of attacks."""
    return paragraphs(
        [
            f"### {file.id}",
            circumstances([file], f"{plural(len(file.attacks), 'attack')}, each {plural(file.rounds, 'time')}"),
            table(("attack", "ready after it, longest"), [(name, f"{s:.1f} s") for name, s in file.attacks.items()]),
            "\n".join(f"- {line}" for line in aftermath_lines(file)),
            *(bullets("Failed", file.failures) if file.failures else ["Passed."]),
        ]
    )


def browser_chapter(files: Sequence[BrowserFile]) -> str:
    """Return the chapter of the attempts of a web page."""
    return "\n".join([BROWSER_INTRODUCTION, *map(browser_section, files)]) if files else ""


def browser_section(file: BrowserFile) -> str:
    """Return the section of the attempts of one page."""
    return paragraphs(
        [
            f"### {file.id}",
            circumstances([file], plural(len(file.answers), "attempt")),
            table(("attempt", "answer"), [(name, str(answer)) for name, answer in file.answers.items()]),
            "\n".join(f"- {line}" for line in aftermath_lines(file)),
            *(bullets("Failed", file.failures) if file.failures else ["Passed."]),
        ]
    )


def aftermath_lines(file: Aftermath) -> Iterator[str]:
    """How the bridge and the ledgers were afterwards."""
    yield f"flows started: {file.flows_started}"
    if file.ledgers_changed is not None:
        changed = ", ".join(file.ledgers_changed) or "none"
        yield f"nodes with another number of transactions, states or attachments: {changed}"
    yield f"ready again after {file.ready_seconds:.1f} s"
    before, after = size(file.live_bytes_before), size(file.live_bytes_after)
    yield f"heap after collection: {before} before, {after} afterwards ({file.heap_change_percent:+.1f} %)"
