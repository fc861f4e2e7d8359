"""Text generated from the knobs: their comments and defaults in ``.env``, and the table in ``docs/operations.md``."""

import textwrap
from collections.abc import Sequence
from pathlib import Path

from corda_lab.knobs.shape import BY_VARIABLE, KNOBS, SIZE, Knob
from corda_lab.paths import ENV_FILE, ROOT

OPERATIONS = ROOT / "docs" / "operations.md"
COMMAND = "PYTHONPATH=scripts:loadgen/locust .venv/bin/python -m corda_lab.knobs"
"""The command that updates both files."""
WIDTH = 120
SECTION = "# ---"
"""Prefix of the headings in ``.env``, which belong to no knob."""
TABLE_BEGIN = "<!-- The table of knobs comes from scripts/corda_lab/knobs/shape.py. -->"
TABLE_END = "<!-- End of the table of knobs. -->"


def env_text(text: str) -> str:
    """Return the text of ``.env`` with the declared comment and default of every knob.

    A knob that is missing from ``text`` is inserted after the knob that is declared before it.
    """
    written: list[str] = []
    for line in text.splitlines():
        knob = BY_VARIABLE.get(line.partition("=")[0])
        if knob is None:
            written.append(line)
            continue
        while written and written[-1].startswith("#") and not written[-1].startswith(SECTION):
            written.pop()
        written += _env_lines(knob)
    for place, knob in enumerate(KNOBS):
        if not any(_sets(knob, line) for line in written):
            before = KNOBS[place - 1]
            after = next((number for number, line in enumerate(written, start=1) if _sets(before, line)), len(written))
            written[after:after] = _env_lines(knob)
    return "\n".join(written) + "\n"


def docs_text(text: str) -> str:
    """Return the text of ``docs/operations.md`` with the declared table of knobs."""
    before, _, rest = text.partition(TABLE_BEGIN)
    _, _, after = rest.partition(TABLE_END)
    return f"{before}{TABLE_BEGIN}\n\n{_table(KNOBS)}\n{TABLE_END}{after}"


def write() -> list[Path]:
    """Update both files, and return the paths of those that changed."""
    changed = []
    for path, made in ((ENV_FILE, env_text), (OPERATIONS, docs_text)):
        text = path.read_text(encoding="utf-8")
        if made(text) != text:
            path.write_text(made(text), encoding="utf-8")
            changed.append(path)
    return changed


def _sets(knob: Knob, line: str) -> bool:
    return line.startswith(f"{knob.variable}=")


def _env_lines(knob: Knob) -> list[str]:
    comment = textwrap.wrap(
        f"{knob.help} {knob.note}".strip(),
        WIDTH,
        initial_indent="# ",
        subsequent_indent="# ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [*comment, f"{knob.variable}={knob.default}"]


def _table(knobs: Sequence[Knob]) -> str:
    rows = [
        (
            f"`{knob.flag}`" if knob.is_common else "",
            f"`{knob.variable}`",
            f"`{knob.default}`" if knob.default else "",
            knob.help,
        )
        for knob in knobs
    ]
    heap = next(place for place, knob in enumerate(knobs) if knob.variable == "NODE_HEAP")
    rows.insert(heap, (f"`{SIZE.flag}`", "`NODE_HEAP`, `NODE_MEMORY`, `NODE_CORES`", "", SIZE.help))
    head = "| option of `lab up` | variable | default | what it sets |\n|---|---|---|---|\n"
    return head + "".join(f"| {' | '.join(row)} |\n".replace("|  |", "| |") for row in rows)
