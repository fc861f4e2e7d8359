"""``docs/scale-out.md`` says of every field of a service what its rule says, and names every field of a placement."""

import re

import pytest

from corda_lab.paths import ROOT
from corda_lab.swarm.placement import PLACEABLE, PLACEMENTS
from corda_lab.swarm.rules import RULES
from corda_lab.swarm.schema import LABEL, REGISTRY, HostFields, PlacementFields

TEXT = (ROOT / "docs" / "scale-out.md").read_text(encoding="utf-8")


def test_the_table_of_fields_is_that_of_the_rules() -> None:
    table = TEXT.partition("| field | in the stack | why |\n|---|---|---|\n")[2].partition("\n\n")[0]
    assert table.splitlines() == [f"| `{name}` | {rule.fate.value} | {rule.reason} |" for name, rule in RULES.items()]


def test_every_field_of_a_placement_is_described() -> None:
    rows = TEXT.partition("### Fields of a placement")[2].partition("\n\nThe services")[0]
    described = set(re.findall(r"`\.?(?:hosts\.<name>\.)?(\w+)(?:\.<service>)?`", rows))
    assert {*PlacementFields.model_fields, *HostFields.model_fields} - {"hosts"} <= described
    assert f"`{LABEL}`" in rows
    assert f"`{REGISTRY}`" in rows


@pytest.mark.parametrize("name", sorted(path.stem for path in PLACEMENTS.glob("*.yaml")))
def test_every_ready_made_placement_has_a_row(name: str) -> None:
    assert f"| `{name}` |" in TEXT


def test_every_service_that_can_be_placed_is_named() -> None:
    listed = TEXT.partition("The services are ")[2].partition("Memory is written")[0]
    # The document names the first and the last party, and refuses clusters of notaries.
    named = {name for name in PLACEABLE if not re.fullmatch(r"notary\d|party[b-j]", name)}
    assert {f"`{name}`" in listed for name in named} == {True}
