"""Tables for the terminal. They are printed whole to a file or a pipe, and stay readable in a narrow terminal."""

from collections.abc import Sequence

from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from corda_lab.text import ui

GAP = 2


def table(*titles: str, numbers: Sequence[str] = ()) -> Table:
    """An empty table with these columns. ``numbers`` are right-aligned, and like the first never wrapped."""
    made = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for place, title in enumerate(titles):
        is_number = title in numbers
        made.add_column(title, justify="right" if is_number else "left", no_wrap=is_number or place == 0)
    return made


def show(made: Table) -> None:
    """Print a table in which every cell is text.

    If it does not fit, text is wrapped in its column. If words would break, each cell gets its own line with its title.
    """
    options = ui.console.options.update(max_width=ui.WIDTH_WITHOUT_TERMINAL, markup=False)
    if Measurement.get(ui.console, options, made).minimum <= ui.console.width:
        ui.console.print(made, markup=False, soft_wrap=False)
        return
    for number, row in enumerate(made.rows):
        first, *cells = (list(column.cells)[number] for column in made.columns)
        ui.console.print(first, style=row.style, markup=False)
        for column, cell in zip(made.columns[1:], cells, strict=True):
            line = Text(f"{column.header}: {cell}", style=row.style or "")
            ui.console.print(Padding(line, (0, 0, 0, GAP), expand=False), soft_wrap=False)
