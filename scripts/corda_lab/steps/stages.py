"""Where the time of a flow goes inside the nodes: the rows that the lab's CorDapp writes there, and the figures made of them.

Every flow of the lab's CorDapp leaves one row when it ends, at the node that started it (initiator) and at every node that
answered (responder). An initiator's row joins a request by flow id, a responder's by transaction id.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from corda_lab.clients.bridge import Node
from corda_lab.clients.prometheus import Prometheus
from corda_lab.errors import LabError
from corda_lab.lab.compose import Compose
from corda_lab.steps.rows import Window, deviation_percent, distribution, ended_within
from corda_lab.text import ui

STAGES = (
    "wait",
    "select",
    "build",
    "verify",
    "sign",
    "collect_signatures",
    "notarise",
    "finalise",
    "record",
    "other",
)
"""Stages in the order in which a flow goes through them. Stages that a CorDapp adds come behind them."""

LAB_PACKAGE = "org.cordalab."
"""Package of the flows that time themselves."""

DIFFERENCE_PERCENT_MAX = 10.0
"""How far start, stages and end together may be from the request's time before it is flagged."""

FLUSH_SECONDS = 1.0
"""A node writes its rows within half a second after a flow's end."""

COLLECT_SECONDS_MAX = 300.0
SIZE_COMMAND = (
    'if [ -z "$LAB_STAGES_FILE" ]; then echo off; '
    'elif [ -f "$LAB_STAGES_FILE" ]; then wc -c < "$LAB_STAGES_FILE"; '
    "else echo 0; fi"
)
TAIL_COMMAND = 'if [ -f "$LAB_STAGES_FILE" ]; then tail -c "+$1" "$LAB_STAGES_FILE"; fi'

_TEXT = ("flow_id", "flow", "role", "node", "tx_id", "outcome")
_TIMES = ("created_at", "started_at", "ended_at", "notarised_at", "recorded_at")


def offsets(compose: Compose, nodes: Sequence[str]) -> dict[str, int]:
    """Bytes of every node's stage rows so far, by node; a node that keeps none is left out."""
    found = {}
    for node in nodes:
        words = compose.run("exec", "-T", node.lower(), "sh", "-c", SIZE_COMMAND, check=False).stdout.split()
        if words and words[-1].isdecimal():
            found[node] = int(words[-1])
    return found


def collect(compose: Compose, before: Mapping[str, int], directory: Path) -> list[Path]:
    """Copy what every node has written since ``before`` to ``directory``, a file per node.

    A node that cannot be asked, such as one that the load has killed, is left out with a warning.
    """
    paths = []
    for node, offset in before.items():
        path = directory / f"stages.{node.lower()}.ndjson"
        command = ("exec", "-T", node.lower(), "sh", "-c", TAIL_COMMAND, "stages", str(offset + 1))
        try:
            compose.run_to_file(path, *command, seconds_max=COLLECT_SECONDS_MAX)
        except LabError as error:
            ui.warn(f"no stage rows of {node}: {error.message}")
            continue
        paths.append(path)
    return paths


def dropped_rows(prometheus: Prometheus) -> dict[str, int]:
    """Stage rows that every node has dropped since it started, by node."""
    return {
        value.labels["node"]: int(value.value)
        for value in prometheus.latest('corda_stage_rows_total{outcome="dropped"}')
    }


def read_stages(paths: Sequence[Path], nodes: Mapping[str, Node]) -> pl.DataFrame | None:
    """One table of all nodes' rows, a column ``stage_<name>_ms`` per stage; None when there is no row.

    A last line that was cut off is left out. Nodes are named as in the lab, not by their X.500 names. Raises LabError.
    """
    lab_names = {node.x500_name: node.name for node in nodes.values()}
    records = []
    for path in paths:
        content = path.read_bytes()
        for line in content[: content.rfind(b"\n") + 1].splitlines():
            try:
                row = json.loads(line)
                stages = {column_of(name): float(value) for name, value in row["stages"].items()}
                record = {name: row[name] for name in (*_TEXT, *_TIMES)}
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise LabError(
                    f"{path.name}: a stage row cannot be read ({type(error).__name__}: {error})",
                    "This is a defect of the lab's CorDapp.",
                ) from None
            record["node"] = lab_names.get(row["node"], row["node"])
            record["tx_id"] = row["tx_id"].upper() if row["tx_id"] else None
            records.append({**record, **stages})
    if not records:
        return None
    columns = dict.fromkeys(name for record in records for name in record)
    names = ordered_stages(columns)
    schema = {
        **dict.fromkeys(_TEXT, pl.String()),
        **dict.fromkeys(_TIMES, pl.Float64()),
        **{column_of(name): pl.Float64() for name in names},
    }
    return pl.DataFrame(records, schema=schema).sort("created_at")


def column_of(stage: str) -> str:
    """Column of a stage's milliseconds."""
    return f"stage_{stage}_ms"


def ordered_stages(columns: Sequence[str] | Mapping[str, Any]) -> list[str]:
    """Names of the stages among the columns of a table, in the order in which a flow goes through them."""
    present = [
        name[len("stage_") : -len("_ms")] for name in columns if name.startswith("stage_") and name.endswith("_ms")
    ]
    known = [name for name in STAGES if name in present]
    return known + [name for name in present if name not in STAGES]


def stage_lines(rows: pl.DataFrame, total_ms: pl.Series) -> list[dict[str, Any]]:
    """Mean, p50, p95 and share of every stage over ``rows``; a flow that did not go through a stage spent 0 ms in it."""
    lines = []
    for name in ordered_stages(rows.columns):
        column = rows[column_of(name)]
        if column.null_count() == len(column):
            continue
        values = column.fill_null(0.0)
        figures = distribution(values)
        lines.append(
            {
                "stage": name,
                "mean_ms": figures["mean"],
                "p50_ms": figures["p50"],
                "p95_ms": figures["p95"],
                "share_percent": share_percent(values, total_ms),
            }
        )
    return lines


def share_percent(part_ms: pl.Series, total_ms: pl.Series) -> float | None:
    """How much of a total time a part of it is; None where the total is 0."""
    total = float(total_ms.sum())
    return 100 * float(part_ms.sum()) / total if total else None


def total_of(rows: pl.DataFrame) -> pl.Series:
    """Sum of each row's stages, in milliseconds."""
    return rows.select(
        pl.sum_horizontal(pl.col(column_of(name)).fill_null(0.0) for name in ordered_stages(rows.columns))
    ).to_series()


def flow_table(part: str, requests: pl.DataFrame, stages: pl.DataFrame) -> dict[str, Any] | None:
    """The stage table of one part: ``requests`` are those of the window that ended as meant; None when no stage row joins them.

    ``start`` runs from the request to the flow's creation in the node, ``end`` from the flow's end to the answer: both on
    the clock of one machine. ``sum_ms_mean``, start and stages and end together, is held against ``request_ms_mean``, the same
    requests as the generator timed them. ``bridge_flow_ms_mean`` is what the bridge timed in between, of successes.
    """
    initiators = stages.filter(pl.col("role") == "initiator").rename(
        {"started_at": "flow_started_at", "ended_at": "flow_ended_at"}
    )
    joined = requests.select("flow_id", "started_at", "ended_at", "bridge_flow_ms").join(
        initiators.drop("outcome"), on="flow_id", how="inner"
    )
    if joined.is_empty():
        return None
    totals = total_of(joined)
    start = (joined["created_at"] - joined["started_at"]) * 1000
    end = (joined["ended_at"] - joined["flow_ended_at"]) * 1000
    request = (joined["ended_at"] - joined["started_at"]) * 1000
    sum_mean = float((start + totals + end).sum()) / len(totals)
    request_mean = float(request.sum()) / len(request)
    return {
        "part": part,
        "flow": str(joined["flow"][0]),
        "requests": requests.height,
        "rows": joined.height,
        "stages": stage_lines(joined, request),
        "start_ms": distribution(start),
        "end_ms": distribution(end),
        "start_share_percent": share_percent(start, request),
        "end_share_percent": share_percent(end, request),
        "sum_ms_mean": sum_mean,
        "request_ms_mean": request_mean,
        "bridge_flow_ms_mean": joined["bridge_flow_ms"].mean(),
        "difference_percent": deviation_percent(sum_mean, request_mean),
    }


def responder_tables(stages: pl.DataFrame, transactions: pl.Series) -> list[dict[str, Any]]:
    """The stage tables of the flows that answered, by flow and node, over the rows of ``transactions``."""
    answered = stages.filter((pl.col("role") == "responder") & pl.col("tx_id").is_in(transactions.implode()))
    tables = []
    for rows in answered.sort("flow", "node").partition_by("flow", "node", maintain_order=True):
        totals = total_of(rows)
        tables.append(
            {
                "flow": str(rows["flow"][0]),
                "node": str(rows["node"][0]),
                "rows": rows.height,
                "stages": stage_lines(rows, totals),
                "sum_ms_mean": float(totals.sum()) / len(totals),
            }
        )
    return tables


def consensus_latency(stages: pl.DataFrame, transactions: pl.Series) -> pl.DataFrame:
    """Consensus latency of every transaction: ``tx_id``, ``parties`` that recorded it, ``latency_ms``.

    From the moment the notary's signature had arrived at the initiator until the last party had committed the transaction.
    """
    return (
        stages.filter(pl.col("tx_id").is_in(transactions.implode()))
        .group_by("tx_id")
        .agg(
            pl.col("notarised_at").max(),
            pl.col("recorded_at").max().alias("last_recorded_at"),
            pl.col("recorded_at").count().alias("parties"),
            pl.col("flow").filter(pl.col("role") == "initiator").first().alias("flow"),
        )
        .drop_nulls(["notarised_at", "last_recorded_at", "flow"])
        .with_columns(((pl.col("last_recorded_at") - pl.col("notarised_at")) * 1000).alias("latency_ms"))
        .select("tx_id", "flow", "parties", "latency_ms")
        .sort("tx_id")
    )


def complete_only(latencies: pl.DataFrame) -> pl.DataFrame:
    """Transactions whose rows are all there: as many parties recorded it as ever did of the same flow.

    Of the others a row is missing, so the last party may not be the last.
    """
    usual = latencies.group_by("flow").agg(pl.col("parties").max().alias("usual"))
    return latencies.join(usual, on="flow", how="inner").filter(pl.col("parties") == pl.col("usual"))


def window_transactions(requests: pl.DataFrame, window: Window) -> pl.Series:
    """Ids of the transactions that the window's requests made, in upper case as the stage rows have them."""
    return as_meant_within(requests, window)["tx_id"].drop_nulls().str.to_uppercase().unique()


def as_meant_within(requests: pl.DataFrame, window: Window) -> pl.DataFrame:
    """Requests that ended within the window as the workload means them to: in success, or in the failure it expects."""
    return ended_within(requests, window).filter(pl.col("outcome").is_in(["ok", "expected"]))


def why_none(flows: Sequence[str], stages: pl.DataFrame | None, *, is_on: bool) -> str:
    """Why there is no stage table, in a sentence."""
    if not any(flow.startswith(LAB_PACKAGE) for flow in flows):
        return "Only flows of the lab's own CorDapp time their stages; this workload starts others."
    if not is_on:
        return "The nodes keep no stage rows: LAB_STAGES_FILE is not set in their containers."
    if stages is None:
        return "The nodes wrote no stage row during the run."
    return "No stage row belongs to a request of the measuring window."


def stage_figures(
    requests: pl.DataFrame,
    stages: pl.DataFrame | None,
    window: Window,
    flows: Mapping[str, str],
    *,
    is_on: bool,
    dropped: Mapping[str, int],
) -> dict[str, Any]:
    """The entry ``stages`` of a step. ``flows`` gives the flow class of every part by its name.

    ``reason`` is None where there is a table, and says why there is none otherwise.
    """
    meant = as_meant_within(requests, window)
    tables = []
    if stages is not None:
        for part in flows:
            table = flow_table(part, meant.filter(pl.col("part") == part), stages)
            if table is not None:
                tables.append(table)
    if stages is None or not tables:
        return {
            "reason": why_none(list(flows.values()), stages, is_on=is_on),
            "rows_dropped": dict(dropped),
            "flows": [],
            "responders": [],
            "consensus_latency_ms": distribution(pl.Series(dtype=pl.Float64)),
            "consensus_left_out": 0,
        }
    transactions = window_transactions(requests, window)
    latencies = consensus_latency(stages, transactions)
    complete = complete_only(latencies)
    return {
        "reason": None,
        "rows_dropped": dict(dropped),
        "flows": tables,
        "responders": responder_tables(stages, transactions),
        "consensus_latency_ms": distribution(complete["latency_ms"]),
        "consensus_left_out": latencies.height - complete.height,
    }


def doubts(figures: Mapping[str, Any]) -> list[str]:
    """What makes the stage table doubtful, a sentence each."""
    found = []
    for table in figures["flows"]:
        difference = table["difference_percent"]
        if difference is not None and abs(difference) > DIFFERENCE_PERCENT_MAX:
            found.append(f"the stages of {table['part']} differ by {difference:+.0f} % from the time of its requests")
        if table["rows"] < table["requests"]:
            found.append(
                f"{table['requests'] - table['rows']} of {table['requests']} {table['part']} flows have no stage row"
            )
    for node, count in figures["rows_dropped"].items():
        if count:
            found.append(f"{node} dropped {count} stage rows")
    return found
