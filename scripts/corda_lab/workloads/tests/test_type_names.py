"""Type names of the bridge, taken apart."""

import pytest

from corda_lab.workloads import type_names


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("int", []),
        ("List<Party>", ["Party"]),
        ("Map<String, List<Party>>?", ["String", "List<Party>"]),
        ("Pair<Map<A, B>, C>", ["Map<A, B>", "C"]),
    ],
)
def test_finds_the_arguments(name: str, found: list[str]) -> None:
    assert type_names.arguments(name) == found


@pytest.mark.parametrize(
    ("name", "element", "content", "wrapped", "innermost"),
    [
        ("Set<int>?", "int", None, None, "int"),
        ("int[][]", "int[]", None, None, "int"),
        ("byte[]", None, None, None, "byte[]"),
        ("List", None, None, None, "List"),
        ("Map<String, List<Party>>?", None, "List<Party>", None, "Party"),
        ("Optional<LocalDate>", None, None, "LocalDate", "LocalDate"),
        ("Amount<Currency>", None, None, None, "Amount<Currency>"),
    ],
)
def test_finds_what_a_container_holds(
    name: str, element: str | None, content: str | None, wrapped: str | None, innermost: str
) -> None:
    assert type_names.element(name) == element
    assert type_names.content(name) == content
    assert type_names.wrapped(name) == wrapped
    assert type_names.innermost(name) == innermost


def test_knows_the_class_and_whether_null_is_accepted() -> None:
    assert type_names.base("Map<String, int>?") == "map"
    assert type_names.is_nullable("Party?")
    assert not type_names.is_nullable("List<Party?>")
