"""The published values, ``configs/figures/published.csv``, each with its error, and what they give a claim."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, get_args

import polars as pl

from corda_lab.analysis.metrics import metric
from corda_lab.figures.claims import Claim, Column
from corda_lab.figures.points import Point, Selection, fits, unit_scale
from corda_lab.paths import CONFIGS

FIGURES = CONFIGS / "figures"

Row = Mapping[str, Any]
"""A published value, by the columns of the file. ``value`` is None where nothing finished."""


@cache
def read_published() -> Sequence[Row]:
    numbers = {"value": pl.Float64, "error": pl.Float64}
    rows = pl.read_csv(FIGURES / "published.csv", infer_schema=False, schema_overrides=numbers)
    return rows.with_columns(pl.col(pl.String).fill_null("")).to_dicts()


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
