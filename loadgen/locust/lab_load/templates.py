"""Templates in the arguments of a workload: compiled once, rendered for every request.

A string that is one expression keeps the type of its value (``"{{ random_int(1, 99) }}"`` is a number); any other
string is text with the expressions put in. Nothing is guessed from the text: ``"007"`` stays a string, unlike with
Jinja's own native types, and rendering needs no parser.

The same seed gives request number n the same arguments in every run, whatever the flows' timing: nothing that is
random without the seed is within a template's reach.
"""

import json
import random
from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import StrictUndefined, Undefined, meta, nodes
from jinja2.exceptions import TemplateError as JinjaError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from lab_load.names import did_you_mean

FUNCTIONS = ("counter", "pick", "random_int")
PARTIES = ("counterparty", "node")
NAMES = FUNCTIONS + PARTIES
"""What a template can name. Parties are X.500 names as strings."""

Location = tuple[str | int, ...]
"""Where a value is within the arguments: keys and list indexes."""

_Renderer = Callable[[Mapping[str, Any]], Any]


class TemplateError(Exception):
    """A template that cannot be compiled or rendered; the message says why, in one line."""


class TemplatesError(Exception):
    """Every template among the arguments that cannot be compiled, with its location."""

    def __init__(self, problems: list[tuple[Location, str]]) -> None:
        super().__init__("; ".join(message for _, message in problems))
        self.problems = problems


class Values:
    """What templates draw from during one run: a counter and a random sequence, both decided by ``seed``.

    ``node`` and ``counterparty`` are X.500 names; a counterparty of None is a name that templates do not know.
    """

    def __init__(self, *, seed: int, node: str, counterparty: str | None) -> None:
        self._random = random.Random(seed)
        self._count = 0
        self.names: dict[str, Any] = {
            "counter": self._next_count,
            "pick": self._pick,
            "random_int": self._random_int,
            "node": node,
        }
        if counterparty is not None:
            self.names["counterparty"] = counterparty

    def _next_count(self) -> int:
        self._count += 1
        return self._count

    def _random_int(self, lowest: int, highest: int) -> int:
        if type(lowest) is not int or type(highest) is not int:
            raise TemplateError(f"random_int({lowest!r}, {highest!r}): both bounds must be whole numbers")
        if lowest > highest:
            raise TemplateError(f"random_int({lowest}, {highest}): the first bound is above the second")
        return self._random.randint(lowest, highest)

    def _pick(self, choices: list[Any]) -> Any:
        if not isinstance(choices, (list, tuple)) or not choices:
            raise TemplateError(f"pick({choices!r}): needs a list with at least one item")
        return self._random.choice(choices)


class Arguments:
    """The arguments of a workload with their templates compiled."""

    def __init__(self, args: Mapping[str, Any]) -> None:
        """Compile ``args``; raise ``TemplatesError`` with every template that is wrong."""
        self.used_names: dict[str, Location] = {}
        """Each name that the templates use, with where it is used first."""
        problems: list[tuple[Location, str]] = []
        self._renderer = self._compile(dict(args), (), problems)
        if problems:
            raise TemplatesError(problems)

    def render(self, values: Values) -> dict[str, Any]:
        """The arguments of the next request. Raises ``TemplateError``."""
        try:
            return self._renderer(values.names)  # type: ignore[no-any-return]
        except TemplateError:
            raise
        except Exception as error:  # an expression of the workload's author may fail in any way
            raise TemplateError(f"{type(error).__name__}: {_message(error)}") from error

    def check(self, values: Values) -> None:
        """Render once and see that the result can be sent as JSON. Raises ``TemplateError``."""
        try:
            json.dumps(self.render(values), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise TemplateError(f"cannot be sent as JSON: {error}") from error

    def _compile(self, value: Any, where: Location, problems: list[tuple[Location, str]]) -> _Renderer:
        if isinstance(value, str) and "{" in value:
            try:
                return self._compile_text(value, where)
            except (JinjaError, TemplateError) as error:
                problems.append((where, f"template: {_message(error)}"))
        elif isinstance(value, dict):
            items = [(key, self._compile(item, (*where, key), problems)) for key, item in value.items()]
            return lambda names: {key: render(names) for key, render in items}
        elif isinstance(value, list):
            entries = [self._compile(item, (*where, index), problems) for index, item in enumerate(value)]
            return lambda names: [render(names) for render in entries]
        return lambda names: value

    def _compile_text(self, text: str, where: Location) -> _Renderer:
        tree = _ENVIRONMENT.parse(text)
        for name in sorted(meta.find_undeclared_variables(tree)):
            if name not in NAMES:
                hint = did_you_mean(name, NAMES) or f", known are {', '.join(NAMES)}"
                raise TemplateError(f"unknown name {name!r}{hint}")
            self.used_names.setdefault(name, where)
        if not _is_one_expression(tree, text):
            return _ENVIRONMENT.from_string(text).render
        if _inner(text).strip() in NAMES:
            name = _inner(text).strip()
            return lambda names: names[name]
        evaluate = _ENVIRONMENT.compile_expression(_inner(text), undefined_to_none=False)

        def render(names: Mapping[str, Any]) -> Any:
            value = evaluate(names)
            if isinstance(value, Undefined):
                raise TemplateError(f"{text}: has no value")
            return value

        return render


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined, autoescape=False)
    # These draw from a random source that the seed does not rule.
    del environment.filters["random"]
    del environment.globals["lipsum"]
    return environment


_ENVIRONMENT = _environment()


def _is_one_expression(tree: nodes.Template, text: str) -> bool:
    """Whether the whole of ``text`` is one ``{{ … }}``."""
    stripped = text.strip()
    return (
        len(tree.body) == 1
        and isinstance(tree.body[0], nodes.Output)
        and len(tree.body[0].nodes) == 1
        and not isinstance(tree.body[0].nodes[0], nodes.TemplateData)
        and stripped == text
        and stripped.startswith("{{")
        and stripped.endswith("}}")
    )


def _message(error: Exception) -> str:
    """What ``error`` says, without the place in generated code that Jinja adds to it."""
    return str(getattr(error, "message", error))


def _inner(text: str) -> str:
    """The expression within ``{{ … }}``, without Jinja's marks of whitespace control."""
    return text[2:-2].removeprefix("-").removeprefix("+").removesuffix("-")
