"""Templates: types, determinism, and what they cannot reach."""

from typing import Any

import pytest

from lab_workload.problems import TemplateError
from lab_workload.templates import Arguments, TemplatesError
from lab_workload.values import Values

NODE = "O=PartyA,L=London,C=GB"
COUNTERPARTY = "O=PartyB,L=New York,C=US"


def values(seed: int = 1, counterparty: str | None = COUNTERPARTY) -> Values:
    return Values(seed=seed, node=NODE, counterparty=counterparty)


def rendered(value: Any) -> Any:
    return Arguments({"value": value}).render(values())["value"]


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("{{ counterparty }}", COUNTERPARTY),
        ("{{- node -}}", NODE),
        ("{{ 5 * 20 }}", 100),
        ("{{ '007' }}", "007"),
        ("{{ counter() }}", 1),
        ("{{ random_int(3, 3) }}", 3),
        ("{{ random_int(3, 3) }} GBP", "3 GBP"),
        ("{{ counter() }}{{ counter() }}", "12"),
        ("{{ [1, counter()] }}", [1, 1]),
        ("{% if counter() == 1 %}first{% endif %}", "first"),
        (["{{ counter() }}", {"n": "{{ counter() }}"}], [1, {"n": 2}]),
        ("plain text", "plain text"),
        ("{not a template}", "{not a template}"),
        (None, None),
        (1.5, 1.5),
    ],
)
def test_one_expression_keeps_its_type_and_anything_else_is_text(template: Any, value: Any) -> None:
    assert rendered(template) == value
    assert type(rendered(template)) is type(value)


def test_the_same_seed_gives_the_same_sequence() -> None:
    arguments = Arguments(
        {"n": "{{ random_int(1, 10**9) }}", "p": "{{ pick(['a', 'b', 'c']) }}", "c": "{{ counter() }}"}
    )

    def sequence(seed: int) -> list[dict[str, Any]]:
        drawn_from = values(seed)
        return [arguments.render(drawn_from) for _ in range(50)]

    assert sequence(1) == sequence(1)
    assert sequence(1) != sequence(2)
    assert [row["c"] for row in sequence(1)] == list(range(1, 51))
    assert {row["p"] for row in sequence(1)} == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ random_int(5, 1) }}", r"random_int\(5, 1\): the first bound is above the second"),
        ("{{ random_int(1.5, 2) }}", "both bounds must be whole numbers"),
        ("{{ random_int(true, 2) }}", "both bounds must be whole numbers"),
        ("{{ random_int(1) }}", "TypeError"),
        ("{{ pick([]) }}", "needs a list with at least one item"),
        ("{{ pick('abc') }}", "needs a list with at least one item"),
        ("{{ 1 / 0 }}", "ZeroDivisionError: division by zero"),
        ("{{ node.nothing }}", "has no value"),
        ("{{ node.nothing }} x", "UndefinedError"),
        ("{{ node.__class__.__mro__ }}", "SecurityError: access to attribute '__class__'"),
        ("{{ counter }}", "cannot be sent as JSON"),
        ("{{ 1e999 }}", "NameError: name 'inf' is not defined"),
        (float("inf"), "cannot be sent as JSON"),
    ],
)
def test_an_argument_that_cannot_be_sent_says_why(template: Any, message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        Arguments({"value": template}).render_json(values())


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ nod }}", "template: unknown name 'nod', did you mean 'node'?"),
        (
            "{{ zzz }}",
            "template: unknown name 'zzz'; choose from counter, pick, random_int, counterparty, node, parties",
        ),
        ("{{ lipsum() }}", "template: unknown name 'lipsum'; choose from"),
        ("{{ node", "template: unexpected end of template"),
        ("{{ [1, 2] | random }}", "template: No filter named 'random'."),
    ],
)
def test_what_cannot_be_compiled_is_told_with_its_place(template: str, message: str) -> None:
    with pytest.raises(TemplatesError) as raised:
        Arguments({"good": "{{ node }}", "bad": {"deep": [template]}})

    (problem,) = raised.value.problems
    assert problem.location == ("bad", "deep", 0)
    assert problem.text.startswith(message)
