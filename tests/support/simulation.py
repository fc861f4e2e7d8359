"""Simulated runs in the real formats, for tests: queueing systems whose values are known in advance.

Closed load: each of ``users`` sends one request at a time to a single server, which handles them in order. With a fixed
service time s, the exact solution is a throughput of 1 / s, and a latency of users × s once the queue is full. Open
load: requests arrive at a constant rate, and the same server handles them as long as the pool has a free place.
"""

import heapq
import json
import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import polars as pl

from corda_lab.clients.bridge import Node
from corda_lab.runs.spans import read as read_spans
from corda_lab.steps.counts import judged
from corda_lab.steps.entry import CountsEntry, FlowCount, VaultCount
from corda_lab.steps.rows import ROW_SCHEMA, read_rows
from corda_lab.steps.spans import NOTARY_CLIENT
from lab_workload.load import OUTCOMES
from lab_workload.run_end import RunEnd, WorkerEnd

ORIGIN = 1_700_000_000.0
NODES = ("Notary", "PartyA", "PartyB", "PartyC")
X500_NAMES = {
    "Notary": "O=Notary,L=London,C=GB",
    "PartyA": "O=PartyA,L=London,C=GB",
    "PartyB": "O=PartyB,L=New York,C=US",
    "PartyC": "O=PartyC,L=Paris,C=FR",
}
IOU_STATE = "org.cordalab.states.IouState"


def fixed(seconds: float) -> Callable[[float], float]:
    """A constant service time."""
    return lambda _at: seconds


def warming(seconds: float, seed: int) -> Callable[[float], float]:
    """A random service time that, like that of a cold JVM, halves over the first 15 seconds."""
    source = random.Random(seed)
    return lambda at: seconds * (1 + math.exp(-at / 8)) * source.lognormvariate(0, 0.5)


def cold(seconds: float, seed: int) -> Callable[[float], float]:
    """A random service time that falls from seven times its final value over about the first minute."""
    source = random.Random(seed)
    return lambda at: seconds * (1 + 6 * math.exp(-at / 25)) * source.lognormvariate(0, 0.4)


def row(
    number: int,
    started: float,
    ended: float,
    *,
    user: int = 0,
    part: str = "Iou",
    outcome: str = "ok",
    intended: float | None = None,
    worker: int = 0,
) -> dict[str, Any]:
    """One row. Times are in seconds since the load began."""
    failed = outcome != "ok"
    return {
        "request_id": number,
        "user_id": user,
        "workload": "iou",
        "part": part,
        "node": "PartyA",
        "flow": f"org.cordalab.flows.{part}",
        "worker": worker,
        "intended_at": None if intended is None else ORIGIN + intended,
        "started_at": ORIGIN + started,
        "ended_at": ORIGIN + ended,
        "latency_ms": (ended - started) * 1000,
        "latency_intended_ms": None if intended is None else (ended - intended) * 1000,
        "outcome": outcome,
        "status": 502 if failed else 200,
        "error": "flow-failed: the responder refused to sign" if failed else None,
        "flow_id": f"00000000-0000-0000-0000-{number:012}",
        "tx_id": None if failed else f"{number:064X}",
        "client_id": f"client-{number}",
        "bridge_rpc_ms": 3.0,
        "bridge_flow_ms": (ended - started) * 1000 - 2,
        "trace_id": f"{number:032x}",
        "bridge_received_at": ORIGIN + started + 0.0006,
        "bridge_started_at": ORIGIN + started + 0.001,
    }


def closed_rows(
    users: int,
    total_seconds: float,
    service: Callable[[float], float],
    *,
    error_every: int = 0,
    failure: str = "failed",
    errors: Sequence[str] = (),
    parts: Sequence[str] = ("Iou",),
) -> list[dict[str, Any]]:
    """The rows of closed load over ``total_seconds``. Flows that are in flight at the end are finished.

    Every ``error_every``-th request fails with the outcome ``failure``. ``errors`` and ``parts`` take turns; ``{n}`` in
    an error stands for the number of its request.
    """
    ready = [(user * 0.05, user) for user in range(users)]
    heapq.heapify(ready)
    server_free_at = 0.0
    rows: list[dict[str, Any]] = []
    while ready and ready[0][0] < total_seconds:
        started, user = heapq.heappop(ready)
        ended = max(started, server_free_at) + service(started)
        server_free_at = ended
        number = len(rows) + 1
        failed = bool(error_every) and number % error_every == 0
        part = parts[number % len(parts)]
        rows.append(row(number, started, ended, user=user, part=part, outcome=failure if failed else "ok"))
        if failed and errors:
            rows[-1]["error"] = errors[number // error_every % len(errors)].format(n=number)
        heapq.heappush(ready, (ended, user))
    return rows


def open_rows(
    rate: float,
    total_seconds: float,
    service: Callable[[float], float],
    *,
    pool: int,
    late_max_seconds: float = 1.0,
    lag_seconds: float = 0.0,
) -> tuple[list[dict[str, Any]], list[float]]:
    """The rows of open load with constant arrivals, and the intended starts of the dropped arrivals in unix seconds.

    The generator starts every request ``lag_seconds`` late. An arrival that finds the pool full waits for the next
    place, and is dropped if it would start more than ``late_max_seconds`` late.
    """
    places: list[float] = []
    server_free_at = 0.0
    drops: list[float] = []
    rows: list[dict[str, Any]] = []
    for number in range(int(rate * total_seconds)):
        intended = number / rate
        while places and places[0] <= intended:
            heapq.heappop(places)
        started = (intended if len(places) < pool else places[0]) + lag_seconds
        if started - intended > late_max_seconds:
            drops.append(ORIGIN + intended)
            continue
        if len(places) >= pool:
            heapq.heappop(places)
        ended = max(started, server_free_at) + service(started)
        server_free_at = ended
        heapq.heappush(places, ended)
        rows.append(row(len(rows) + 1, started, ended, intended=intended))
    return rows, drops


def burst_rows(
    size: int,
    bursts: int,
    service: Callable[[float], float],
    *,
    within_seconds: float = 1.0,
    pool: int | None = None,
    rest_seconds: float = 5.0,
    lag_seconds: float = 0.0,
) -> list[dict[str, Any]]:
    """The rows of bursts of ``size`` requests. A request that finds the pool full waits for the next place.

    The generator starts every request ``lag_seconds`` late.
    """
    rows: list[dict[str, Any]] = []
    begin = 0.0
    for _ in range(bursts):
        places = [begin] * (pool or size)
        server_free_at = begin
        for number in range(size):
            intended = begin + number * within_seconds / size
            started = max(intended, heapq.heappop(places)) + lag_seconds
            server_free_at = max(started, server_free_at) + service(started)
            heapq.heappush(places, server_free_at)
            rows.append(row(len(rows) + 1, started, server_free_at, intended=intended))
        begin = server_free_at + rest_seconds
    return rows


def counted_end(rows: list[dict[str, Any]], users: int, exit_reason: str = "completed") -> RunEnd:
    """The summary of the generator of a load that ends with the last of its rows."""
    seconds = max(one["ended_at"] for one in rows) - ORIGIN
    end = end_words(rows, users, seconds)
    if rows[0]["intended_at"] is not None:
        end = replace(end, model="burst", spawned_at=ORIGIN, offered=len(rows), late=0, dropped=0)
    return replace(end, exit_reason=exit_reason)


def failing_rows(users: int, total_seconds: float) -> list[dict[str, Any]]:
    """The rows of closed load in which every request is refused at once. Each message has another value.

    Users wait one second between two requests.
    """
    rows: list[dict[str, Any]] = []
    for start in range(int(total_seconds)):
        for user in range(users):
            number, started = len(rows) + 1, start + user * 0.01
            refused = row(number, started, started + 0.005, user=user, outcome="failed")
            rows.append({**refused, "status": 400, "error": f"invalid-argument: args.iouValue is 'x{number}'"})
    return rows


STAGE_SHARES = {
    "wait": 0.02,
    "build": 0.03,
    "verify": 0.05,
    "sign": 0.05,
    "collect_signatures": 0.45,
    "finalise": 0.38,
    "other": 0.02,
}
"""The share of each stage in the time of a simulated flow."""

COMMIT_SECONDS = 0.030
"""The consensus latency of every simulated transaction."""


def span(trace: str, name: str, start: float, end: float, **more: Any) -> dict[str, Any]:
    """A span in OTLP's JSON. Times are in Unix seconds."""
    times = {"startTimeUnixNano": f"{start * 1e9:.0f}", "endTimeUnixNano": f"{end * 1e9:.0f}"}
    return {"traceId": trace, "spanId": uuid4().hex[:16], "name": name, "kind": 1, **times, **more}


def flow_spans(
    trace: str,
    flow: str,
    flow_id: str,
    begin: float,
    stages: dict[str, float],
    *,
    moments: dict[str, float] | None = None,
    parent: str | None = None,
    error: str = "",
) -> list[dict[str, Any]]:
    """The spans of a flow: its stages one after another, in seconds, and spans without length."""
    start = begin + stages.get("wait", 0.0)
    attributes = [
        {"key": "flow.id", "value": {"stringValue": flow_id}},
        {"key": "creation.time", "value": {"intValue": f"{begin * 1000:.0f}"}},
    ]
    status = {"status": {"code": 2, "message": error}} if error else {}
    around = {"parentSpanId": parent} if parent else {}
    whole = span(trace, flow, start, begin + sum(stages.values()), attributes=attributes, **around, **status)
    within = {"parentSpanId": whole["spanId"], "attributes": attributes[:1]}
    found, until = [whole], start
    for name, seconds in stages.items():
        if name not in ("wait", "other"):
            found.append(span(trace, name, until, until + seconds, **within))
        until += seconds if name != "wait" else 0.0
    for name, at in (moments or {}).items():
        found.append(span(trace, name, at, at, **within))
    return found


def refused_spans(one: dict[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The spans of a request that the other party refused to sign, by node."""
    created, half = one["started_at"] + 0.001, (one["ended_at"] - one["started_at"] - 0.002) / 2
    asked = {"build": half, "collect_signatures": half}
    flow = flow_spans(one["trace_id"], one["flow"], one["flow_id"], created, asked, error="refused")
    yield "PartyA", flow
    answers = (f"{one['flow']}Responder", one["flow_id"].replace("0000-", "1111-", 1), created + half)
    parent = flow[0]["spanId"]
    yield "PartyB", flow_spans(one["trace_id"], *answers, {"sign": half / 2}, parent=parent, error="refused")


def spans_of(rows: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The spans of every success, by node: of the flow that was started, and of the one that answered."""
    for one in rows:
        if one["outcome"] != "ok":
            continue
        created = one["started_at"] + 0.001
        seconds = one["ended_at"] - 0.001 - created
        notarised = created + seconds / 2
        stages = {name: share * seconds for name, share in STAGE_SHARES.items()}
        moments = {NOTARY_CLIENT: notarised, "record": notarised + COMMIT_SECONDS / 2}
        flow = flow_spans(one["trace_id"], one["flow"], one["flow_id"], created, stages, moments=moments)
        yield "PartyA", flow
        answer = {"sign": 0.4 * seconds, "finalise": 0.5 * seconds, "other": 0.1 * seconds}
        yield (
            "PartyB",
            flow_spans(
                one["trace_id"],
                f"{one['flow']}Responder",
                one["flow_id"].replace("0000-", "1111-", 1),
                created,
                answer,
                moments={"record": notarised + COMMIT_SECONDS},
                parent=flow[0]["spanId"],
            ),
        )


def write_spans(directory: Path, by_node: Iterable[tuple[str, list[dict[str, Any]]]]) -> list[Path]:
    """Write spans as the nodes do: one file per node, in which each line is an OTLP request."""
    texts: dict[str, list[str]] = {"PartyA": [], "PartyB": [], "PartyC": []}
    for node, found in by_node:
        service = {"attributes": [{"key": "service.name", "value": {"stringValue": X500_NAMES[node]}}]}
        request = {"resourceSpans": [{"resource": service, "scopeSpans": [{"spans": found}]}]}
        texts[node].append(json.dumps(request) + "\n")
    paths = {node: directory / f"spans.{node.lower()}.ndjson" for node in texts}
    for node, path in paths.items():
        path.write_text("".join(texts[node]), encoding="utf-8")
    return list(paths.values())


def spans(directory: Path, by_node: Iterable[tuple[str, list[dict[str, Any]]]]) -> pl.DataFrame:
    """The table of spans that nodes have written."""
    by_node = list(by_node)
    traces = [one["traceId"] for _, found in by_node for one in found]
    requests = pl.DataFrame({"trace_id": traces, "flow_id": [None] * len(traces)}, schema_overrides=ROW_SCHEMA)
    return read_spans(write_spans(directory, by_node), nodes(), requests)


def nodes() -> dict[str, Node]:
    """The nodes of the simulated lab, as the bridge describes them."""
    return {
        name: Node(name, X500_NAMES[name], 12, True, name == "Notary", 0, notary_x500_names=(X500_NAMES["Notary"],))
        for name in NODES
    }


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows as the generator does: one JSON object per line."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def end_words(
    rows: list[dict[str, Any]],
    users: int,
    total_seconds: float,
    *,
    rate: float | None = None,
    drops: Sequence[float] = (),
) -> RunEnd:
    """The summary of the generator; with a ``rate``, that of open load."""
    dropped = len(drops)
    lags = sorted((one["started_at"] - one["intended_at"]) * 1000 for one in rows if one["intended_at"] is not None)
    is_open = rate is not None
    return RunEnd(
        started_at=ORIGIN,
        spawned_at=ORIGIN if is_open else ORIGIN + 0.05 * users,
        stop_at=ORIGIN + total_seconds,
        ended_at=max(one["ended_at"] for one in rows) + 0.1,
        users=users,
        requests=len(rows),
        outcomes={name: sum(one["outcome"] == name for one in rows) for name in OUTCOMES},
        rows={"0": len(rows)},
        model="constant" if is_open else "closed",
        rate=rate,
        offered=len(rows) + dropped if is_open else None,
        late=sum(lag > 10 for lag in lags) if is_open else None,
        dropped=dropped if is_open else None,
        lag_p99_ms=lags[int(len(lags) * 0.99)] if lags else None,
        setup=[],
        pool_free_min=None,
        workers=[WorkerEnd(0, 6.0, len(rows))],
        cpu_percent_max=6.0,
        exit_reason="completed",
    )


def frame(folder: Path, rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    """The rows of a load as they are read from its file, which is written into a folder."""
    return read_rows([write_rows(folder / "rows.ndjson", list(rows))])


def agreeing_counts(rows: list[dict[str, Any]]) -> CountsEntry:
    """The four counts of a run without lost flows."""
    flows = dict.fromkeys(one["flow"] for one in rows)
    succeeded = {flow: sum(one["outcome"] == "ok" and one["flow"] == flow for one in rows) for flow in flows}
    total = sum(succeeded.values())
    counts = CountsEntry(
        flows=[FlowCount(flow=flow, generator=count, bridge=count, node=count) for flow, count in succeeded.items()],
        vault_states=[
            VaultCount(state=IOU_STATE, node=node, counted=total, expected=total) for node in ("PartyA", "PartyB")
        ],
        node_flows={
            "PartyA": succeeded,
            "PartyB": {f"{flow}Responder": count for flow, count in succeeded.items()},
            "Notary": {"net.corda.node.services.transactions.NonValidatingNotaryFlow": total},
        },
        rest_seconds=4.2,
    )
    return judged(counts)
