"""Collects and parses the stage rows that the nodes write."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from corda_lab.clients.bridge import Node
from corda_lab.errors import LabError
from corda_lab.lab.deployed import Deployed
from corda_lab.runs.node_metrics import NodeMetrics
from corda_lab.runs.running import ask_all
from corda_lab.steps.stages import (
    ENTRY_OFFSETS,
    ENTRY_SCHEMA,
    ENTRY_STAGES,
    ROW_TEXTS,
    ROW_TIMES,
    column_of,
    ordered_stages,
)
from corda_lab.text import ui

FLUSH_SECONDS = 1.0
"""Time to wait before reading. A node writes its rows within half a second of the end of a flow."""

COLLECT_SECONDS_MAX = 300.0

_ENDED_AT = re.compile(rb'"ended_at": ?(\d+(?:\.\d+)?)')

SIZE_COMMAND = (
    'if [ -z "$LAB_STAGES_FILE" ]; then echo off; '
    'elif [ -f "$LAB_STAGES_FILE" ]; then wc -c < "$LAB_STAGES_FILE"; '
    "else echo 0; fi"
)

TAIL_COMMAND = 'if [ -f "$LAB_STAGES_FILE" ]; then tail -c "+$1" "$LAB_STAGES_FILE"; fi'


def offsets(compose: Deployed, nodes: Sequence[str]) -> dict[str, int]:
    """Return the size in bytes of every node's stage rows, by node. Nodes that write no stage rows are left out."""

    def size_of(node: str) -> int | None:
        words = compose.run("exec", "-T", node.lower(), "sh", "-c", SIZE_COMMAND, check=False).stdout.split()
        return int(words[-1]) if words and words[-1].isdecimal() else None

    return {node: size for node, size in ask_all(size_of, nodes).items() if size is not None}


def collect(compose: Deployed, before: Mapping[str, int], directory: Path) -> list[Path]:
    """Copy the rows of every node since ``before`` to ``directory``. A node that does not answer is a warning."""

    def copy_of(node: str) -> Path | None:
        path = directory / f"stages.{node.lower()}.ndjson"
        command = ("exec", "-T", node.lower(), "sh", "-c", TAIL_COMMAND, "stages", str(before[node] + 1))
        try:
            compose.run_to_file(path, *command, seconds_max=COLLECT_SECONDS_MAX)
        except LabError as error:
            ui.warn(f"no stage rows of {node}: {error.message}")
            return None
        return path

    return [path for path in ask_all(copy_of, before).values() if path is not None]


def copy_between(path: Path, copy: Path, since: float, until: float) -> None:
    """Copy the rows of flows that ended in a span of time (unix seconds). Rows that do not say when are left out."""
    with path.open("rb") as lines, copy.open("wb") as file:
        file.writelines(
            line for line in lines if (found := _ENDED_AT.search(line)) and since <= float(found[1]) <= until
        )


def dropped_rows(metrics: NodeMetrics) -> dict[str, int]:
    """Return the number of stage rows that every node has dropped since its start, by node."""
    return {
        node: int(sample.value)
        for node, samples in metrics.items()
        for sample in samples
        if sample.name == "corda_stage_rows_total" and sample.labels["outcome"] == "dropped"
    }


def read_stages(paths: Sequence[Path], nodes: Mapping[str, Node], *, torn_max: int = 0) -> pl.DataFrame | None:
    """Return one table with the rows of all nodes, sorted by time; None if there are no rows. Raises LabError.

    Each stage has a column ``stage_<name>_ms``. An incomplete last line is ignored, and so are up to ``torn_max`` other
    lines of a file: a node that is killed leaves one, and writes on behind it when it is started again. Nodes have
    their lab names, not their X.500 names.
    """
    lab_names = {node.x500_name: node.name for node in nodes.values()}
    records = []
    for path in paths:
        content = path.read_bytes()
        torn = 0
        for line in content[: content.rfind(b"\n") + 1].splitlines():
            try:
                row = json.loads(line)
                stages = {column_of(name): float(value) for name, value in row["stages"].items()}
                record = {name: row[name] for name in (*ROW_TEXTS, *ROW_TIMES)}
                record[ENTRY_STAGES] = [stage for stage, _ in row["entries"]]
                record[ENTRY_OFFSETS] = [float(offset) for _, offset in row["entries"]]
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                torn += 1
                if torn <= torn_max:
                    continue
                raise LabError(
                    f"{path.name}: a stage row cannot be parsed ({type(error).__name__}: {error})",
                    "This is a defect of the lab's CorDapp. Please report it.",
                ) from None
            record["node"] = lab_names.get(row["node"], row["node"])
            record["tx_id"] = row["tx_id"].upper() if row["tx_id"] else None
            records.append({**record, **stages})
    if not records:
        return None
    columns = dict.fromkeys(name for record in records for name in record)
    names = ordered_stages(columns)
    schema = {
        **dict.fromkeys(ROW_TEXTS, pl.String()),
        **dict.fromkeys(ROW_TIMES, pl.Float64()),
        **ENTRY_SCHEMA,
        **{column_of(name): pl.Float64() for name in names},
    }
    return pl.DataFrame(records, schema=schema).sort("created_at")
