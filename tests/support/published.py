"""Published values by their columns, for the tests of what figures quote."""

from corda_lab.figures.published import PublishedRow, read_published


def rows(**columns: str | float) -> list[PublishedRow]:
    """The published rows with these values."""
    return [row for row in read_published() if all(row.columns[name] == value for name, value in columns.items())]


def one(**columns: str | float) -> float:
    """The only published value with these columns."""
    (row,) = rows(**columns)
    assert row.value is not None
    return row.value


def line(**columns: str | float) -> list[tuple[float, float]]:
    """The published (x, value) with these columns."""
    return [(float(row.x), row.value) for row in rows(**columns) if row.value is not None]
