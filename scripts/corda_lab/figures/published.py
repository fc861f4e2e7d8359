"""The published values, ``configs/figures/published.csv``, with what is known of their errors.

A value is never more exact than it was printed or read off a picture. Its error is the largest of: half a unit of its
last printed digit; the error of reading it off (``digitised +-45``); its published standard deviation, which is given
as two rows of their own (``throughput -1SD``, ``throughput +1SD``) or by the runs in ``quality``.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, get_args

import polars as pl

from corda_lab.analysis.metrics import metric
from corda_lab.errors import LabError
from corda_lab.figures.claims import Claim, Column
from corda_lab.figures.points import Point, Selection, fits, number_of, text_of, unit_scale
from corda_lab.paths import CONFIGS

FIGURES = CONFIGS / "figures"
PUBLISHED = FIGURES / "published.csv"

NAMES = ("id", "source", "edition", "workload", "x_name", "x", "metric", "value", "unit", "quality", "hardware")
"""The columns of the file. ``error``, in the unit of the value, comes with them."""

Row = Mapping[str, Any]
"""A published value, by the columns of ``NAMES``. ``value`` is None where nothing finished."""


@cache
def read_published(path: Path = PUBLISHED) -> Sequence[Row]:
    """Read the published values. ``x`` is as points are compared by it, if it is a number. Raises LabError."""
    try:
        texts = pl.read_csv(path, infer_schema=False).fill_null("")
    except (OSError, pl.exceptions.PolarsError) as error:
        raise LabError(f"{path}: cannot be read: {error}", "Restore it with git.") from error
    # "mean latency" has its deviations in "latency -1SD".
    key = ("id", "edition", "workload", "x_name", "x", "quantity")
    rows = texts.with_columns(
        value=pl.col("value").replace("", None).cast(pl.Float64),
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


def published_number(claim: Claim, x: str, rows: Sequence[Row]) -> float:
    """Return the number of a claim from the published rows of its figure. ``x`` is the name of our axis.

    Raises NoValue.
    """
    assert claim.on_published is not None
    points = [
        Point(
            # The x of a row has the name of our axis, too.
            values={**{name: row[name] for name in get_args(Column)}, x: row["x"]},
            metrics={} if row["value"] is None else {name: _in_unit_of(name, row) for name in claim.metrics},
        )
        for row in rows
        if fits(row, claim.on_published.where)
    ]
    theirs = {name: _there(claim, name, own.get(x), x, points) for name, own in claim.points.items()}
    return claim.model_copy(update=theirs).number(points)


def _in_unit_of(name: str, row: Row) -> float:
    return float(row["value"]) * unit_scale(row["unit"], metric(name).unit)


def _there(claim: Claim, name: str, own_x: object, x: str, points: Sequence[Point]) -> Selection:
    """Return which row stands for a point of a claim: by the columns of its check, and by its x if they are several."""
    own: Selection = {} if own_x is None else {x: own_x}
    columns: Selection = getattr(claim.on_published, name, None) or {}
    # One row needs no x, as that of a number in a sentence. For a ratio, it has to be one for each side.
    is_only = sum(fits(point.values, columns) for point in points) == 1
    needs_x = name == "where" or not is_only or (claim.kind == "ratio" and not columns)
    return {**(own if needs_x and "x" not in columns else {}), **columns}
