"""The page of a figure, ``<run>/<figure>.html``: one file that opens offline."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from corda_lab import atomic
from corda_lab.figures import charts, summary, words
from corda_lab.figures.curves import Curve, measured, published_charts
from corda_lab.figures.forms import FULL, SweepNames, in_form, names_of
from corda_lab.figures.judge import Judged, measure_command
from corda_lab.figures.metrics import unit_of
from corda_lab.figures.verdict import NOT_TESTABLE
from corda_lab.figures.words import in_unit
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.report import page
from corda_lab.report.facts import LABS, conditioning_plan, until
from corda_lab.steps.parameters import value_words
from corda_lab.sweeps.execute import sweep_manifest
from corda_lab.text.words import listed, plural

Value = tuple[str, str, str, str, int]
"""A line of the table of values: curve, x, value, interval, and the number of repeats."""


def write(judged: Judged, folder: Path, *, report: str | None = None) -> Path:
    """Write the page of a figure into a folder and return its path. ``report`` is the link to the run's own report."""
    path = folder / f"{judged.name}.html"
    atomic.write_text(path, page.html("figure.html", content(judged, report=report)))
    return path


def content(judged: Judged, *, report: str | None = None) -> Mapping[str, object]:
    """Return what the template of a figure's page shows."""
    theirs = charts.published(judged)
    ours, both = charts.here(judged), charts.both(judged)
    return {
        "judged": judged,
        "fields": judged.figure.fields,
        "summary": summary,
        "words": words,
        "published_charts": theirs,
        "here_chart": ours,
        "both_chart": both,
        "published_values": published_values(judged),
        "here_values": here_values(judged),
        "published_facts": published_facts(judged),
        "here_facts": here_facts(judged),
        "not_testable": [one for one in judged.verdicts if one.verdict == NOT_TESTABLE],
        "command": measure_command(judged.name, judged.form),
        "report": report,
    }


def published_values(judged: Judged) -> list[Value]:
    """Return the published values, in their units."""
    return [
        row for one in published_charts(judged.figure) for curve in one.curves for row in _values(curve, f"{one.y}, ")
    ]


def here_values(judged: Judged) -> list[Value]:
    """Return the measured values with their intervals."""
    return [row for curve in measured(judged.figure, judged.repeats) for row in _values(curve, "")]


def _values(curve: Curve, before: str) -> list[Value]:
    def interval(low: float | None, high: float | None) -> str:
        if low is None or high is None:
            return "–"
        return f"{in_unit(low, curve.unit)} to {in_unit(high, curve.unit)}"

    return [
        (
            f"{before}{curve.name}" or "–",
            dot.x if isinstance(dot.x, str) else f"{dot.x:g}",
            in_unit(dot.y, curve.unit),
            interval(dot.low, dot.high),
            dot.n,
        )
        for dot in curve.dots
    ]


def published_facts(judged: Judged) -> list[tuple[str, str]]:
    """Return unit, hardware and conditions of the publication."""
    fields, found = judged.figure.fields, published_charts(judged.figure)
    units = ", ".join(dict.fromkeys(f"{one.y} in {one.unit}" for one in found))
    hardware = "; ".join(dict.fromkeys(name for one in found for name in one.hardware))
    return [
        (name, text)
        for name, text in (
            ("Source", summary.source(fields)),
            ("Values", units or "none: the source gives words only"),
            ("Hardware", hardware),
            ("Conditions", fields.conditions),
        )
        if text
    ]


def here_facts(judged: Judged) -> list[tuple[str, str]]:
    """Return unit, machine and conditions of the repeats."""
    fields, repeats = judged.figure.fields, judged.repeats
    sweep = judged.figure.sweep
    facts = [
        ("Sweep", f"{sweep.name}: {sweep.fields.description}"),
        ("Values", f"{fields.chart.y} in {unit_of(fields.chart.y)}"),
        ("Conditions", conditions(judged)),
    ]
    facts += [("Not counted", line) for line in summary.outdated_words(judged.outdated)]
    if not repeats:
        return facts
    facts += [("Not counted", line) for line in summary.spoilt_words(repeats)]
    return [
        *facts,
        ("Machine", summary.machines_with_speed(repeats)),
        ("Repeats", f"{plural(len(repeats), 'repeat')}, {judged.form}, {summary.days(repeats)}"),
        ("Versions", f"lab {summary.versions(repeats)}"),
        ("Images of the nodes", images_words([one.images for one in repeats])),
        *left_out_facts(judged),
    ]


SAID_SHAPES = {"shape.corda": "CORDA_VERSION", "shape.database": "DATABASE", "shape.heap": "NODE_HEAP"}
"""What the conditions of every figure say, with the variable of ``.env`` that has it if the sweep does not."""


def conditions(judged: Judged) -> str:
    """Return what does not vary, how long every point is measured, and what happens before."""
    sweep = in_form(judged.figure.sweep, judged.form or FULL)
    planned = sweep_manifest(sweep, None)
    names = names_of(sweep)
    given = names.constants[""]
    loads = [one for step, one in names.constants.items() if step] or [given]
    arrivals = [str(one.get("load.arrivals", "closed")) for one in loads]
    constants = ", ".join(
        filter(None, (value_words(name, value) for name, value in given.items() if name not in SAID_SHAPES))
    )
    measured = until(planned.measure)
    return "; ".join(
        (
            *filter(None, (", ".join(shapes_words(names)), constants)),
            *([f"each point for {measured}"] if measured else []),
            f"conditioned: {conditioning_plan(planned.condition, arrivals)}",
            f"labs: {LABS[planned.fresh]}",
        )
    )


def shapes_words(names: SweepNames) -> list[str]:
    """Return version, database and heap of all points: ``Corda 4.3 and Corda 4.5``, ``H2``, ``heap 1g``."""
    settings = load_settings(ENV_FILE, {})
    found = []
    for name, variable in SAID_SHAPES.items():
        default = settings[variable]
        values = {point.get(name, names.constants_at(point).get(name, default)): None for point in names.points}
        found.append(listed(list(dict.fromkeys(value_words(name, value) for value in values))))
    return found


def left_out_facts(judged: Judged) -> list[tuple[str, str]]:
    """Return the points that the machine could not have, if there are any."""
    missing = dict.fromkeys(f"{one.label}: {one.reason}" for repeat in judged.repeats for one in repeat.left_out)
    return [("Left out", "; ".join(missing))] if missing else []


def images_words(images: Sequence[Mapping[str, str]]) -> str:
    """Return images with the beginnings of their ids: ``corda-lab/node:4.10 (0123456789ab)``."""
    known = sorted({(name, identity) for one in images for name, identity in one.items()})
    return ", ".join(f"{name} ({identity.removeprefix('sha256:')[:12]})" for name, identity in known)
