"""Tables for the terminal. They are printed whole to a file or a pipe, and stay readable in a narrow terminal."""

from collections.abc import Sequence

from rich.console import RenderableType
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Column, Table

from corda_lab.text import ui

GAP = 2
"""Number of spaces between two columns."""
WIDTH_MIN = 12
"""The smallest width of a column whose text is wrapped, in characters."""


def table(*titles: str, numbers: Sequence[str] = ()) -> Table:
    """An empty table with these columns. ``numbers`` are right-aligned, and like the first never wrapped."""
    made = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for place, title in enumerate(titles):
        is_number = title in numbers
        made.add_column(title, justify="right" if is_number else "left", no_wrap=is_number or place == 0)
    return made


def show(made: Table) -> None:
    """Print a table in which every cell is text.

    If it does not fit, text is wrapped in its column. If that is not enough, the first cell of each row gets its own
    line, with the other cells below it. If there is still less room, each cell gets its own line.
    """
    room = ui.console.width
    widths = _fitting(made.columns, room)
    if widths is not None:
        for column, width in zip(made.columns, widths, strict=True):
            column.width = width
        ui.console.print(made, markup=False)
        return
    rest = made.columns[1:]
    widths = _fitting(rest, room - GAP)
    if widths is not None:
        _print_below(rest, [column.header for column in rest], widths, "bold")
    for number, row in enumerate(made.rows):
        first, *cells = (list(column.cells)[number] for column in made.columns)
        ui.console.print(first, style=row.style, markup=False)
        if widths is not None:
            _print_below(rest, cells, widths, row.style)
            continue
        for column, cell in zip(rest, cells, strict=True):
            _print_below([column], [f"{column.header}: {cell}"], [room - GAP], row.style)


def _fitting(columns: Sequence[Column], room: int) -> list[int] | None:
    """The widths of the columns in characters, so that they fit and only text is wrapped. None if they do not fit."""
    options = ui.console.options.update(max_width=ui.WIDTH_WITHOUT_TERMINAL, markup=False)
    widths = [
        max(Measurement.get(ui.console, options, text).maximum for text in (column.header, *column.cells))
        for column in columns
    ]
    flexible = [place for place, column in enumerate(columns) if not column.no_wrap]
    while sum(widths) + GAP * (len(widths) - 1) > room:
        widest = max(flexible, key=lambda place: widths[place], default=None)
        if widest is None or widths[widest] <= WIDTH_MIN:
            return None
        widths[widest] -= 1
    return widths


def _print_below(
    columns: Sequence[Column], cells: Sequence[RenderableType], widths: Sequence[int], style: object
) -> None:
    """Print the cells of a row below its first cell, indented."""
    grid = Table.grid(padding=(0, GAP, 0, 0))
    for column, width in zip(columns, widths, strict=True):
        grid.add_column(justify=column.justify if len(columns) > 1 else "left", no_wrap=column.no_wrap, width=width)
    grid.add_row(*cells, style=str(style or ""))
    ui.console.print(Padding(grid, (0, 0, 0, GAP)), markup=False)
