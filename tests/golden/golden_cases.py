"""The inputs of the golden tests: what was read of a load, and the tables of its rows and samples.

A case is a folder of ``data/``. ``case.json`` has its origin (``real`` or ``simulated``), the lab, and what was read of
each load, by the number of its step. Tables have a column ``step``. A sweep has its file besides.
"""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Case:
    """One case. Its content is plain JSON, of which only the adapter knows the meaning."""

    folder: Path

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    @property
    def is_sweep(self) -> bool:
        """Whether it is a sweep, and not a single load."""
        return self.sweep_file.is_file()

    @property
    def is_unfinished(self) -> bool:
        """Whether it is a load that was never measured to its end."""
        return "ended" in self.content

    @property
    def sweep_file(self) -> Path:
        """The file of the sweep."""
        return self.folder / "sweep.yaml"

    @cached_property
    def content(self) -> dict[str, Any]:
        """The content of ``case.json``."""
        found: dict[str, Any] = json.loads((self.folder / "case.json").read_text(encoding="utf-8"))
        return found

    def load(self, step: int) -> dict[str, Any]:
        """What was read of the load of a step."""
        found: dict[str, Any] = self.content["loads"][str(step)]
        return found

    @cached_property
    def _tables(self) -> dict[str, pl.DataFrame]:
        return {path.stem: pl.read_parquet(path) for path in self.folder.glob("*.parquet")}

    def table(self, name: str, step: int) -> pl.DataFrame | None:
        """The rows of a step in a table; None without any."""
        if name not in self._tables:
            return None
        found = self._tables[name].filter(pl.col("step") == step).drop("step")
        return None if found.is_empty() else found


def cases() -> list[Case]:
    """All cases, by name."""
    return [Case(folder) for folder in sorted(DATA.iterdir()) if folder.is_dir()]


def case(name: str) -> Case:
    """The case with this name."""
    return Case(DATA / name)
