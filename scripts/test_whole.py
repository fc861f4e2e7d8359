"""The whole stays small enough to be held in a head: its lines and modules, and how deep they import."""

import ast
from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
from pathlib import Path

from corda_lab.paths import ROOT

LINES_MAX = 33_950
MODULES_MAX = 193
CHAIN_MAX = 19
"""Modules of the longest chain of imports."""

SCRIPTS = ROOT / "scripts"


def modules() -> Mapping[str, Path]:
    """What users run in scripts/corda_lab: the path of each module by its name."""
    found = {}
    for path in sorted((SCRIPTS / "corda_lab").rglob("*.py")):
        parts = path.relative_to(SCRIPTS).with_suffix("").parts
        if "tests" not in parts and path.name != "conftest.py":
            found[".".join(parts).removesuffix(".__init__")] = path
    return found


MODULES = modules()


def imported(module: str) -> frozenset[str]:
    """The modules that a module imports, also within its functions."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    return frozenset(name for node in ast.walk(tree) for name in _names(node)) & MODULES.keys()


def _names(statement: ast.AST) -> Iterator[str]:
    """The modules that a statement may mean: of ``from a import b``, ``a.b`` if there is one, and ``a`` if not."""
    if isinstance(statement, ast.Import):
        yield from (alias.name for alias in statement.names)
    elif isinstance(statement, ast.ImportFrom) and statement.module:
        for alias in statement.names:
            within = f"{statement.module}.{alias.name}"
            yield within if within in MODULES else statement.module


def longest_chain() -> tuple[str, ...]:
    """The longest chain of modules that import one another. Raises CycleError, which names a cycle, if there is one."""
    imports = {module: imported(module) for module in MODULES}
    chains: dict[str, tuple[str, ...]] = {}
    for module in TopologicalSorter(imports).static_order():
        chains[module] = (module, *max((chains[name] for name in imports[module]), key=len, default=()))
    return max(chains.values(), key=len)


def test_lines_and_modules() -> None:
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES.values())
    assert (lines <= LINES_MAX, len(MODULES) <= MODULES_MAX) == (True, True), (lines, len(MODULES))


def test_the_longest_chain_of_imports() -> None:
    longest = longest_chain()
    assert len(longest) <= CHAIN_MAX, (len(longest), " → ".join(longest))
