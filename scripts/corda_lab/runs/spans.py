"""Collects and parses the spans that the nodes write: OTLP in JSON, a line for each batch."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from corda_lab.clients.bridge import Node
from corda_lab.errors import LabError
from corda_lab.lab.lab import Lab
from corda_lab.runs.node_metrics import NodeMetrics
from corda_lab.runs.running import ask_all
from corda_lab.steps.spans import SPAN_SCHEMA, with_traces
from corda_lab.text import ui

FLUSH_SECONDS = 1.0
"""Time to wait before reading. A node writes its spans within half a second of their end."""

COLLECT_SECONDS_MAX = 300.0

TRACES_MAX = 20_000
"""Traces of a load that are read, evenly chosen. The spans of one take some kilobytes on each node."""
TORN_MAX = 100
"""Lines of a node that may be torn: one for each time that it was killed while it wrote, and the last one."""

KEPT_BYTES_MAX = 512 * 1024 * 1024
"""Size of a node's file above which it is emptied before a load. It takes twice as much (``SpanFile``)."""

SCRIPT = (Path(__file__).parent / "inside" / "spans.sh").read_text(encoding="utf-8")


def offsets(compose: Lab, nodes: Sequence[str], *, bytes_max: int = sys.maxsize) -> dict[str, int]:
    """Return the size in bytes of every node's spans, by node. Nodes that write none are left out.

    A file of more than ``bytes_max`` is emptied first.
    """

    def size_of(node: str) -> int | None:
        command = ("sh", "-c", SCRIPT, "spans", "size", str(bytes_max))
        words = compose.exec(node.lower(), *command, check=False).stdout.split()
        return int(words[-1]) if words and words[-1].isdecimal() else None

    return {node: size for node, size in ask_all(size_of, nodes).items() if size is not None}


def collect(compose: Lab, before: Mapping[str, int], directory: Path) -> dict[str, Path]:
    """Copy the spans of every node since ``before`` to ``directory``. Nodes that do not answer are left out."""

    def copy_of(node: str) -> Path | None:
        path = directory / f"spans.{node.lower()}.ndjson"
        command = ("sh", "-c", SCRIPT, "spans", "tail", str(before[node] + 1))
        try:
            compose.exec_to_file(path, node.lower(), *command, seconds_max=COLLECT_SECONDS_MAX)
        except LabError as error:
            ui.warn(f"no spans of {node}: {error.message}")
            return None
        return path

    return {node: path for node, path in ask_all(copy_of, before).items() if path is not None}


def limited(requests: pl.DataFrame) -> pl.DataFrame:
    """The requests, of which at most ``TRACES_MAX`` have a trace."""
    traces = requests["trace_id"].drop_nulls()
    return with_traces(requests, traces.gather_every(max(1, -(-len(traces) // TRACES_MAX))))


def dropped(metrics: NodeMetrics) -> dict[str, int]:
    """Return the number of spans that every node has dropped since its start, by node."""
    return {
        node: int(sample.value)
        for node, samples in metrics.items()
        for sample in samples
        if sample.name == "corda_spans_total" and (sample.labels["outcome"], sample.labels["to"]) == ("dropped", "file")
    }


def dropped_over(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Return how many spans every node dropped between two counts. One that started again meanwhile counts from 0."""
    return {node: count - (before.get(node, 0) if count >= before.get(node, 0) else 0) for node, count in after.items()}


def read(paths: Iterable[Path], nodes: Mapping[str, Node], requests: pl.DataFrame) -> pl.DataFrame:
    """Return one table with the spans of ``requests`` on all nodes (``SPAN_SCHEMA``), sorted by start. Raises LabError.

    Up to ``TORN_MAX`` lines of a file that cannot be parsed are ignored. Nodes have their lab names, not their X.500
    names.
    """
    names = {node.x500_name: node.name for node in nodes.values()}
    # Before Corda 4.10, the trace of a flow has its own id.
    own = requests["flow_id"].drop_nulls().str.replace_all("-", "", literal=True)
    wanted = {*requests["trace_id"].drop_nulls(), *own}
    tables = [pl.DataFrame(schema=SPAN_SCHEMA)]
    for path in paths:
        rows: list[tuple[Any, ...]] = []
        torn = 0
        with path.open("rb") as file:
            for line in file:
                try:
                    rows += [row for row in _rows_of(json.loads(line), names) if row[0] in wanted]
                except (ValueError, KeyError, TypeError, IndexError) as error:
                    torn += 1
                    if torn > TORN_MAX:
                        reason = f"{type(error).__name__}: {error}"
                        raise LabError(f"{path.name}: spans cannot be parsed ({reason})", "This is a defect.") from None
        tables.append(pl.DataFrame(rows, schema=SPAN_SCHEMA, orient="row"))
    return pl.concat(tables).sort("start_ns")


def _rows_of(request: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[tuple[Any, ...]]:
    for resource in request["resourceSpans"]:
        service = _attributes(resource["resource"])["service.name"]
        node = names.get(service, service)
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                attributes = _attributes(span)
                created, parent = attributes.get("creation.time"), span.get("parentSpanId")
                start = int(span["startTimeUnixNano"])
                yield (
                    span["traceId"],
                    span["spanId"],
                    parent,
                    node,
                    span["name"],
                    start,
                    int(span["endTimeUnixNano"]),
                    attributes.get("flow.id"),
                    # Before Corda 4.10, the span of a flow begins with its creation, and has no other around it.
                    int(created) * 1_000_000 if created else None if parent else start,
                    span.get("status", {}).get("message"),
                )


def _attributes(of: Mapping[str, Any]) -> dict[str, Any]:
    return {one["key"]: next(iter(one["value"].values())) for one in of.get("attributes", ())}
