"""Code stays small enough to be read, and typed. What is longer, or holds data of any form, is listed with a reason."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from corda_lab.paths import ROOT
from support.sources import sources

FUNCTION_LINES_MAX = 60
MODULE_LINES_MAX = 600

LONG_FUNCTIONS: dict[str, str] = {}
LONG_MODULES: dict[str, str] = {
    "tests/golden/golden_adapter.py": "gives every value and chart of the lab by the name that the files have",
}
"""What may be longer, and why. What is short again has to leave the list."""

UNTYPED = "dict[str, Any]"
EDGES: dict[str, tuple[str, ...]] = {
    "arguments of flows and names of templates, which may be any JSON": (
        "loadgen/locust/lab_load/process_run.py",
        "loadgen/locust/lab_workload/overrides.py",
        "loadgen/locust/lab_workload/schema.py",
        "loadgen/locust/lab_workload/templates.py",
        "loadgen/locust/lab_workload/values.py",
        "loadgen/locust/lab_workload/workload.py",
    ),
    "YAML and JSON before a model has read it, or as it is written": (
        "loadgen/locust/lab_load/answer.py",
        "loadgen/locust/lab_load/form.py",
        "loadgen/locust/lab_workload/flows.py",
        "loadgen/locust/lab_workload/run_end.py",
        "loadgen/locust/lab_workload/yaml_source.py",
        "nodes/links/links.py",
        "scripts/corda_lab/clients/bridge.py",
        "scripts/corda_lab/figures/claims.py",
        "scripts/corda_lab/results/folders.py",
        "scripts/corda_lab/runs/spans.py",
        "scripts/corda_lab/steps/otlp.py",
        "scripts/corda_lab/workloads/flows.py",
    ),
    "what Docker and Compose print": (
        "scripts/bare/dockerd.py",
        "scripts/corda_lab/lab/compose.py",
        "scripts/corda_lab/lab/progress.py",
        "scripts/corda_lab/swarm/hosts.py",
        "scripts/corda_lab/swarm/stack.py",
    ),
    "the environment of a WSGI request": (
        "loadgen/locust/lab_load/metrics.py",
        "loadgen/locust/lab_load/origins.py",
    ),
    "rows on their way into a table": ("scripts/corda_lab/clients/prometheus.py",),
    "variables of a template, rows of a frame, and specifications of Vega-Lite": (
        "scripts/corda_lab/report/charts_sweep.py",
        "scripts/corda_lab/report/comparison.py",
        "scripts/corda_lab/report/drawing.py",
        "scripts/corda_lab/report/page.py",
        "scripts/corda_lab/report/tables.py",
    ),
    "fields of a model by name, where a model is made from declarations or only in part": (
        "scripts/corda_lab/results/sweep_parts.py",
        "scripts/corda_lab/steps/entry.py",
    ),
}
"""The modules at the edges of the lab, where data has any form. Everywhere else it has a type."""


def python_files() -> list[Path]:
    return [path for path in sources() if path.suffix == ".py"]


def long_functions(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES_MAX:
                yield f"{path.as_posix()} {node.name}"


def test_no_function_is_too_long_to_be_read_at_once() -> None:
    assert {name for path in python_files() for name in long_functions(path)} == LONG_FUNCTIONS.keys()


def test_no_module_is_longer_than_its_subject_needs() -> None:
    found = {
        path.as_posix()
        for path in python_files()
        if len((ROOT / path).read_text(encoding="utf-8").splitlines()) > MODULE_LINES_MAX
    }
    assert found == LONG_MODULES.keys()


def test_data_of_any_form_stays_at_the_edges() -> None:
    found = {
        path.as_posix()
        for path in python_files()
        if UNTYPED in (ROOT / path).read_text(encoding="utf-8")
        and not {"tests", "monitoring"} & set(path.parts)
        and not path.name.startswith(("test_", "conftest"))
    }
    assert found == {path for paths in EDGES.values() for path in paths}


def test_the_guide_draws_the_layers_that_are_held() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    held = [set(re.split(r" [|:] ", layer)) for layer in layers]
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    picture = re.search(r"```text\n(\d+ .*?)```", guide, re.DOTALL)
    assert picture is not None
    rows = re.split(r"(?m)^ ?\d+ ", picture[1])[1:]
    drawn = [set(re.findall(r"(?m)(?:^ +|  )([\w.]+)(?=  )", row)) & set().union(*held) for row in rows]
    assert drawn == held
