"""The formatters and linters of the project, and the files that each of them checks.

``scripts/lab test`` runs them all. ``.pre-commit-config.yaml`` runs the same programs before a commit. None of them
uses the network.
"""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from corda_lab.paths import ROOT

SKIPPED_FOLDERS = {".git", ".venv", ".cache", "target", "node_modules", "__pycache__"}

SCHEMA_CHECK = ("check-jsonschema", "--builtin-schema")


@dataclass(frozen=True)
class Linter:
    """One check: a program in the virtual environment, its arguments, and the files that are passed to it."""

    name: str
    command: tuple[str, ...]
    reads: Callable[[PurePath], bool] | None = None
    """Returns whether to pass a file of the project to the program. None: pass no files; the program finds them."""

    def command_line(self, files: Iterable[Path]) -> list[str]:
        """Return the command, to be run in the root of the project."""
        program, *arguments = self.command
        given = [] if self.reads is None else [str(path) for path in files if self.reads(path)]
        return [tool(program), *arguments, *given]


def tool(name: str) -> str:
    """Return the path of a program in the virtual environment."""
    return str(Path(sys.executable).parent / name)


def sources() -> Iterator[Path]:
    """Yield the files of the project, relative to its root. Files that tools have generated are left out."""
    for folder, folders, files in os.walk(ROOT):
        folders[:] = sorted(name for name in folders if name not in SKIPPED_FOLDERS and not name.endswith("_cache"))
        if Path(folder) == ROOT and "results" in folders:
            folders.remove("results")
        for name in sorted(files):
            yield (Path(folder) / name).relative_to(ROOT)


def is_shell_script(path: PurePath) -> bool:
    """Return whether a file is a shell script, by its name or its first line."""
    if path.suffix in {".sh", ".bash"}:
        return True
    with (ROOT / path).open("rb") as file:
        first = file.readline(80)
    return re.match(rb"#!\s*(/usr/bin/env\s+|/bin/|/usr/bin/)(ba|da|k)?sh\b", first) is not None


def has_suffix(*suffixes: str) -> Callable[[PurePath], bool]:
    """Return a function that selects files by the suffix of their names."""
    return lambda path: path.suffix in suffixes


def matches(*patterns: str) -> Callable[[PurePath], bool]:
    """Return a function that selects files by patterns of their whole paths."""
    return lambda path: any(path.match(pattern) for pattern in patterns)


LINTERS = (
    Linter("ruff format", ("ruff", "format", "--check", "--diff", ".")),
    Linter("ruff", ("ruff", "check", ".")),
    Linter("import-linter", ("lint-imports",)),
    Linter("mypy", ("mypy",)),
    # Separate, because these modules are in no package, and some have the same names as others.
    Linter("mypy, end to end", ("mypy",), matches("tests/e2e/*.py", "tests/swarm/*.py")),
    Linter("mypy, golden values", ("mypy",), matches("tests/golden/*.py")),
    Linter("yamllint", ("yamllint", "--strict"), has_suffix(".yaml", ".yml")),
    Linter("shellcheck", ("shellcheck",), is_shell_script),
    Linter("hadolint", ("hadolint",), matches("Dockerfile")),
    # Markdown, with relative links and their anchors. All files are passed at once, because rumdl checks anchors only
    # in files that it gets. One wheel without dependencies does both; lychee, which only checks links, has 300 MB.
    Linter("rumdl", ("rumdl", "check", "--no-cache"), has_suffix(".md")),
    Linter("workflows", (*SCHEMA_CHECK, "vendor.github-workflows"), matches(".github/workflows/*")),
    Linter(
        "workflow timeouts", (*SCHEMA_CHECK, "custom.github-workflows-require-timeout"), matches(".github/workflows/*")
    ),
    Linter(
        "issue forms",
        (*SCHEMA_CHECK, "vendor.github-issue-forms"),
        matches(".github/ISSUE_TEMPLATE/bug.yml", ".github/ISSUE_TEMPLATE/result.yml"),
    ),
    Linter("issue choice", (*SCHEMA_CHECK, "vendor.github-issue-config"), matches(".github/ISSUE_TEMPLATE/config.yml")),
    Linter("citation", (*SCHEMA_CHECK, "vendor.citation-file-format"), matches("CITATION.cff")),
    Linter("renovate", (*SCHEMA_CHECK, "vendor.renovate"), matches("renovate.json")),
)
"""All linters, in the order in which they run."""
