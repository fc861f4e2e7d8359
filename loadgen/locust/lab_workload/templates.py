"""Templates in the arguments of a workload: compiled once, rendered for every request.

If a string is a single expression, the value keeps its type: ``"{{ random_int(1, 99) }}"`` is a number. Any other
string is rendered as text. Types are never guessed from the text: unlike with Jinja's native types, ``"007"`` stays a
string. So rendering needs no parser.

With the same seed, request number n has the same arguments in every run, whatever the timing of the flows. Templates
have no access to random values that do not follow from the seed.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from jinja2 import StrictUndefined, Undefined, meta, nodes
from jinja2.exceptions import TemplateError as JinjaError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from lab_workload.names import did_you_mean
from lab_workload.problems import Location, Problem, TemplateError
from lab_workload.values import Values

COMMON_NAMES = (
    *("counter", "pick", "random_int"),
    *("counterparty", "node", "parties", "party", "notary"),
    *("run_id", "setup", "users"),
)
LOAD_NAMES = (*COMMON_NAMES, "mine", "needed", "take", "user")
"""Names that a template of a request can use. Parties are X.500 names as strings."""
SETUP_NAMES = (*COMMON_NAMES, "item", "needed")
"""Names that a template of the set-up can use."""
PREPARED_NAMES = frozenset({"mine", "setup", "take"})
"""Names that refer to results of the set-up. Templates with them can be rendered only after the set-up."""

_Renderer = Callable[[Mapping[str, Any]], Any]


class TemplatesError(Exception):
    """The templates that cannot be compiled, as problems with their locations within the arguments."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems


class Arguments(dict[str, Any]):
    """The arguments of a flow as they are in the file, with compiled templates."""

    def __init__(
        self,
        args: Mapping[str, Any] = MappingProxyType({}),
        names: Collection[str] = LOAD_NAMES,
        steps: Collection[str] = (),
        constants: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Compile ``args``. Their templates may use ``names``, the results of ``steps`` of the set-up, and constants.

        ``constants`` has the values of the workload's parameters and groups by name. Raises ``TemplatesError`` with all
        invalid templates.
        """
        super().__init__(args)
        self.used_names: dict[str, Location] = {}
        """The names that the templates use → location of the first use."""
        self.takes: dict[tuple[str, str | None], int] = {}
        """(Step, item) → number of calls of ``take`` in the templates."""
        self.named_parties: dict[str, Location] = {}
        """The arguments of ``party`` in the templates → location of the first use."""
        self.mine_steps: set[str] = set()
        """Names of the steps of which every user has its own item."""
        self._names = (*names, *constants)
        self._steps = steps
        self._constants = constants
        problems: list[Problem] = []
        self._renderer = self._compile(dict(args), (), problems)
        if problems:
            raise TemplatesError(problems)

    @property
    def needs_setup(self) -> bool:
        """Whether the arguments can be rendered only after the set-up."""
        return not PREPARED_NAMES.isdisjoint(self.used_names)

    def render(self, values: Values) -> dict[str, Any]:
        try:
            return self._renderer({**values.names, **self._constants})  # type: ignore[no-any-return]
        except TemplateError:
            raise
        except Exception as error:  # an expression in a workload file may raise any exception
            raise TemplateError(f"{type(error).__name__}: {_message(error)}") from error

    def render_json(self, values: Values) -> dict[str, Any]:
        """Render the next request's arguments, and check that JSON can represent them. Raises ``TemplateError``."""
        rendered = self.render(values)
        try:
            json.dumps(rendered, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise TemplateError(f"cannot be sent as JSON: {error}") from error
        return rendered

    def _compile(self, value: Any, where: Location, problems: list[Problem]) -> _Renderer:
        if isinstance(value, str) and "{" in value:
            try:
                return self._compile_text(value, where)
            except (JinjaError, TemplateError) as error:
                problems.append(Problem(f"template: {_message(error)}", where))
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
            if name not in self._names:
                raise TemplateError(f"unknown name {name!r}{_which(name, self._names)}")
            self.used_names.setdefault(name, where)
        self._note_steps(tree, where)
        if not _is_one_expression(tree, text):
            return _ENVIRONMENT.from_string(text).render
        if _inner(text).strip() in self._names:
            name = _inner(text).strip()
            return lambda names: names[name]
        evaluate = _ENVIRONMENT.compile_expression(_inner(text), undefined_to_none=False)

        def render(names: Mapping[str, Any]) -> Any:
            value = evaluate(names)
            if isinstance(value, Undefined):
                raise TemplateError(f"{text}: has no value")
            return value

        return render

    def _note_steps(self, tree: nodes.Template, where: Location) -> None:
        """Check the steps that a template names, and record which items and parties it uses."""
        for named in tree.find_all(nodes.Getattr):
            if _name_of(named.node) == "setup":
                self._check_step(named.attr)
        for indexed in tree.find_all(nodes.Getitem):
            step = _constant(indexed.arg)
            if _name_of(indexed.node) == "setup" and step is not None:
                self._check_step(step)
        for call in tree.find_all(nodes.Call):
            function = _name_of(call.node)
            if function == "party" and call.args:
                for name in self._texts(call.args[0]) or ():
                    self.named_parties.setdefault(name, where)
            if function in ("take", "mine") and call.args:
                self._note_taken(function, call.args)

    def _note_taken(self, function: str, given: Sequence[nodes.Node]) -> None:
        """Check a call of ``take`` or ``mine``, and record which items it uses."""
        step = _constant(given[0])
        items: Sequence[str | None] | None = self._texts(given[1]) if len(given) > 1 else (None,)
        if step is None or items is None:
            raise TemplateError(f"{function}(…) needs constant names as arguments, such as {function}('coins')")
        self._check_step(step)
        if function == "mine":
            self.mine_steps.add(step)
            return
        for item in items:
            self.takes[step, item] = self.takes.get((step, item), 0) + 1

    def _texts(self, node: nodes.Node) -> list[str] | None:
        """Return the texts of a constant in a template: of a text, or of a parameter or group; None for the rest."""
        value = self._constants.get(node.name) if isinstance(node, nodes.Name) else _constant(node)
        if isinstance(value, str):
            return [value]
        return value if isinstance(value, list) and all(isinstance(one, str) for one in value) else None

    def _check_step(self, step: str) -> None:
        if step not in self._steps:
            hint = _which(step, self._steps) if self._steps else "; there is no earlier step of the set-up"
            raise TemplateError(f"unknown step {step!r}{hint}")


def expression(text: str, names: Mapping[str, Any]) -> Any:
    try:
        for name in sorted(meta.find_undeclared_variables(_ENVIRONMENT.parse(text)) - set(names)):
            raise TemplateError(f"unknown name {name!r}{_which(name, list(names))}")
        value = _ENVIRONMENT.compile_expression(_inner(text), undefined_to_none=False)(names)
    except TemplateError:
        raise
    except Exception as error:  # as in Arguments.render
        raise TemplateError(f"{type(error).__name__}: {_message(error)}") from error
    if isinstance(value, Undefined):
        raise TemplateError(f"{text}: has no value")
    return value


def is_template(value: Any) -> bool:
    """Return whether ``value`` contains a template, so that it may differ between requests."""
    if isinstance(value, dict):
        return any(map(is_template, value.values()))
    if isinstance(value, list):
        return any(map(is_template, value))
    return isinstance(value, str) and ("{{" in value or "{%" in value)


def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined, autoescape=False)
    # These use random values that do not follow from the seed.
    del environment.filters["random"]
    del environment.globals["lipsum"]
    return environment


_ENVIRONMENT = _environment()


def _which(name: str, known: Collection[str]) -> str:
    return did_you_mean(name, known) or f"; choose from {', '.join(known)}"


def _name_of(node: nodes.Node) -> str | None:
    return node.name if isinstance(node, nodes.Name) else None


def _constant(node: nodes.Node) -> str | None:
    return node.value if isinstance(node, nodes.Const) and isinstance(node.value, str) else None


def _is_one_expression(tree: nodes.Template, text: str) -> bool:
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
    """Return the message of ``error``, without the position in generated code that Jinja adds."""
    return str(getattr(error, "message", error))


def _inner(text: str) -> str:
    """Return the expression within ``{{ … }}``, without Jinja's whitespace control characters."""
    return text[2:-2].removeprefix("-").removeprefix("+").removesuffix("-")
