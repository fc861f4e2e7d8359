"""The templates of all pages."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import jinja2

from corda_lab.text import words

TEMPLATES = Path(__file__).parent / "templates"

NO_FILTERS: Mapping[str, Callable[..., str]] = {}


def template(name: str, filters: Mapping[str, Callable[..., str]] = NO_FILTERS) -> jinja2.Template:
    """A template with the functions of ``text.words`` and further filters. A variable that is not given is an error."""
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
    environment.globals.update({one: getattr(words, one) for one in words.FOR_TEMPLATES})
    environment.filters.update(filters)
    return environment


def text_of(name: str) -> str:
    """A file that pages embed, such as their style."""
    return (TEMPLATES / name).read_text(encoding="utf-8")
