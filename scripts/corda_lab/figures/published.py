"""The published values, ``configs/figures/published.csv``, with what is known of their errors.

A value is never more exact than it was printed or read off a picture. Its error is the largest of: half a unit of its
last printed digit; the error of reading it off (``digitised +-45``); its published standard deviation, which is given
as two rows of their own (``throughput -1SD``, ``throughput +1SD``) or by the runs in ``quality``.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from corda_lab.analysis.metrics import metric
from corda_lab.errors import LabError
from corda_lab.figures.claims import COLUMNS, Number
from corda_lab.figures.points import Plan, Point, Selection, fits, number_of, text_of, unit_scale
from corda_lab.paths import CONFIGS
from corda_lab.steps.parameters import STEP
from lab_workload.problems import Problem

FIGURES = CONFIGS / "figures"
PUBLISHED = FIGURES / "published.csv"

NAMES = ("id", "source", "edition", "workload", "x_name", "x", "metric", "value", "unit", "quality", "hardware")
"""The columns of the file. ``error``, in the unit of the value, comes with them."""
NEVER_EMPTY = ("id", "source", "edition", "metric", "unit", "quality")


Row = Mapping[str, Any]
"""A published value, by the columns of ``NAMES``. ``value`` is None where nothing finished."""


@cache
def read_published(path: Path = PUBLISHED) -> Sequence[Row]:
    """Read the published values. Raises LabError with every row that cannot be read.

    ``x`` is as points are compared by it, if it is a number.
    """
    try:
        texts = pl.read_csv(path, infer_schema=False).fill_null("")
    except (OSError, pl.exceptions.PolarsError) as error:
        raise LabError(f"{path}: cannot be read: {error}", "Restore it with git.") from error
    if tuple(texts.columns) != NAMES:
        raise LabError(f"{path}:1: the columns must be {', '.join(NAMES)}")
    if problems := [Problem(text, path=path, line=line) for line, text in _faults(texts)]:
        raise LabError(problems=problems)
    # "mean latency" has its deviations in "latency -1SD".
    key = ("id", "edition", "workload", "x_name", "x", "quantity")
    rows = texts.with_columns(
        value=pl.col("value").cast(pl.Float64, strict=False),
        decimals=pl.col("value").str.split(".").list.get(1, null_on_oob=True).str.len_chars().fill_null(0),
        quantity=pl.col("metric").str.replace(r" [-+]1SD$", "").str.split(" ").list.last(),
    )
    ends = rows.filter(pl.col("metric").str.contains(r" [-+]1SD$")).group_by(key)
    deviations = ends.agg(deviation=(pl.col("value").max() - pl.col("value").min()) / 2)
    read_off = pl.col("quality").str.extract(r"\+-\s*(\d+(?:\.\d+)?)").cast(pl.Float64)
    is_share = pl.col("quality").str.contains(r"\+-\s*\d+(?:\.\d+)?\s*%")
    runs = pl.col("quality").str.extract(r"mean of \d+ \(([\d. ]+)\)").str.split(" ")
    errors = (
        0.5 * pl.lit(10.0).pow(-pl.col("decimals").cast(pl.Int64)),
        pl.when(is_share).then(read_off / 100 * pl.col("value").abs()).otherwise(read_off),
        runs.list.eval(pl.element().cast(pl.Float64)).list.std(),
        "deviation",
    )
    x = pl.col("x").map_elements(_as_number, return_dtype=pl.String)
    found = rows.join(deviations, on=key, how="left", maintain_order="left")
    return found.with_columns(x=x, error=pl.max_horizontal(errors)).select(*NAMES, "error").to_dicts()


def _as_number(text: str) -> str:
    number = number_of(text)
    return text if number is None else text_of(number)


def _faults(rows: pl.DataFrame) -> Iterable[tuple[int, str]]:
    """Return what is wrong with rows, each with its line."""
    for line, row in enumerate(rows.iter_rows(named=True), start=2):
        if empty := [name for name in NEVER_EMPTY if not row[name]]:
            yield line, f"{empty[0]}: is empty"
        elif row["value"] and number_of(row["value"]) is None:
            yield line, f"value: must be a number, but is {row['value']!r}"


def published_number(claim: Number, x: str, rows: Sequence[Row], plan: Plan) -> float:
    """Return the number of a claim from the published rows of its figure. ``x`` is the name of our axis.

    Raises NoValue.
    """
    where: Selection = claim.on_published.where if claim.on_published else {}
    rows = [row for row in rows if fits(row, where)]
    step = claim.points("where").get(STEP) if "where" in claim.POINTS else None
    points = [
        Point(
            # The x of a row has the name of our axis, too. Its step is that of the claim, for what the step sets.
            values={
                **{name: row[name] for name in COLUMNS},
                **({STEP: step} if isinstance(step, str) else {}),
                x: row["x"],
            },
            metrics={} if row["value"] is None else {name: _in_unit_of(name, row) for name in claim.metrics},
        )
        for row in rows
    ]
    theirs = {name: _there(claim, name, x, points) for name in claim.POINTS if claim.points(name)}
    return claim.model_copy(update=theirs).number(points, plan)


def _in_unit_of(name: str, row: Row) -> float:
    return float(row["value"]) * unit_scale(row["unit"], metric(name).unit)


def _there(claim: Number, name: str, x: str, points: Sequence[Point]) -> Selection:
    """Return which row stands for a point of a claim: by the columns of its check, and by its x if they are several."""
    own = {key: value for key, value in claim.points(name).items() if key == x}
    if name == "where":
        return own
    columns: Selection = getattr(claim.on_published, name, None) or {}
    # One row needs no x, as that of a number in a sentence. For a ratio, it has to be one for each side.
    is_only = sum(fits(point.values, columns) for point in points) == 1
    needs_x = not is_only or (claim.kind == "ratio" and not columns)
    return {**(own if needs_x and "x" not in columns else {}), **columns}
