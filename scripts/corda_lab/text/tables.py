"""Tables in the terminal: whole where the output is a file or a program, readable in a narrow terminal."""

from collections.abc import Sequence

from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Column, Table

from corda_lab.text import ui

GAP = 2
"""Spaces between two columns."""
WIDTH_MIN = 12
"""A column of text is not made narrower than this."""


def table(*titles: str, numbers: Sequence[str] = ()) -> Table:
    """An empty table with these columns. Those of ``numbers`` are aligned at the right; they and the first are never wrapped."""
    made = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for place, title in enumerate(titles):
        is_number = title in numbers
        made.add_column(title, justify="right" if is_number else "left", no_wrap=is_number or place == 0)
    return made


def show(made: Table) -> None:
    """Print a table of which every cell is text.

    Where there is no room for it, text wraps within its column. Where that is not enough, each row has its first cell on a line
    of its own and the others below it, or with still less room a line for each of them.
    """
    room = ui.console.width
    widths = _fitting(made.columns, room)
    if widths is not None:
        for column, width in zip(made.columns, widths, strict=True):
            column.width = width
        ui.console.print(made)
        return
    rest = made.columns[1:]
    widths = _fitting(rest, room - GAP)
    if widths is not None:
        _print_below(rest, [column.header for column in rest], widths, "bold")
    for number, row in enumerate(made.rows):
        first, *cells = (list(column.cells)[number] for column in made.columns)
        ui.console.print(first, style=row.style)
        if widths is not None:
            _print_below(rest, cells, widths, row.style)
            continue
        for column, cell in zip(rest, cells, strict=True):
            _print_below([column], [f"{column.header}: {cell}"], [room - GAP], row.style)


def _fitting(columns: Sequence[Column], room: int) -> list[int] | None:
    """Widths of the columns, in characters, with which they fit and only text is wrapped; None where there are none."""
    options = ui.console.options.update(max_width=ui.WIDTH_WITHOUT_TERMINAL)
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


def _print_below(columns: Sequence[Column], cells: Sequence[object], widths: Sequence[int], style: object) -> None:
    """Print cells of a row below its first one, indented."""
    grid = Table.grid(padding=(0, GAP, 0, 0))
    for column, width in zip(columns, widths, strict=True):
        grid.add_column(justify=column.justify if len(columns) > 1 else "left", no_wrap=column.no_wrap, width=width)
    grid.add_row(*map(str, cells), style=str(style or ""))
    ui.console.print(Padding(grid, (0, 0, 0, GAP)))
