"""The templates of all pages."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import jinja2

from corda_lab.analysis import values
from corda_lab.text import words

TEMPLATES = Path(__file__).parent / "templates"

VALUES = ("bare", "interval_words", "ratio_words", "shown", "steady_words")
"""Functions of ``analysis.values`` that templates call."""

NO_FILTERS: Mapping[str, Callable[..., str]] = {}


def template(name: str, filters: Mapping[str, Callable[..., str]] = NO_FILTERS) -> jinja2.Template:
    """A template with the functions for values and words, and further filters. A missing variable is an error."""
    return _environment(tuple(filters.items())).get_template(name)


@cache
def _environment(filters: tuple[tuple[str, Callable[..., str]], ...]) -> jinja2.Environment:
    """An environment keeps its templates, of which the large ones take half a second to compile."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {name: getattr(words, name) for name in (*words.FOR_TEMPLATES, "count_words")}
    environment.globals |= {name: getattr(values, name) for name in VALUES} | {"clock": clock}
    environment.filters.update(filters)
    return environment


def clock(at: float) -> str:
    """A time of the day in UTC, to the millisecond: ``15:33:00.500``."""
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M:%S.%f")[:-3]


def text_of(name: str) -> str:
    """A file that pages embed, such as their style."""
    return (TEMPLATES / name).read_text(encoding="utf-8")
