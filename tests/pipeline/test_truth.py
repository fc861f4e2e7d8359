"""What needs no container: the loads, the truth, the checks, the broken copies of the pipeline, the proxy."""

import asyncio
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from corda_lab.clients.prometheus import METRICS_SCHEMA
from corda_lab.runs.execute import Observation
from corda_lab.steps import build, costs, rows
from corda_lab.steps.counts import judged
from corda_lab.steps.entry import CountsEntry, FlowCount, VaultCount
from corda_lab.steps.resolutions import Resolution, Resolved, with_resolutions
from pipeline import measure
from pipeline.broken import BREAKAGES
from pipeline.cases import (
    DURATION_SECONDS,
    LATE_MAX_SECONDS,
    RATE,
    WARM_UP_SECONDS,
    Case,
    all_cases,
    stratified,
)
from pipeline.checks import Check, checks_of
from pipeline.proxy import handler
from pipeline.truth import TrueFlow, nearest_rank, of_open_load, read_flow
from support import simulation
from support.runs import ENVIRONMENT, IOU, plan_of

TOTAL = WARM_UP_SECONDS + DURATION_SECONDS


def arrivals_of(case: Case) -> tuple[list[tuple[float, float]], list[float]]:
    """The arrivals of a perfect generator as (intended, real start) in seconds, and the intended starts of drops."""
    started: list[tuple[float, float]] = []
    drops: list[float] = []
    ends: list[float] = []
    for intended in (number / RATE for number in range(TOTAL * RATE)):
        busy = sorted(end for end in ends if end > intended)
        begin = intended if len(busy) < case.pool else busy[-case.pool]
        if begin - intended > LATE_MAX_SECONDS or begin >= TOTAL:
            drops.append(simulation.ORIGIN + intended)
            continue
        ends = [*busy, begin + case.delays_ms[len(started)] / 1000]
        started.append((intended, begin))
    return started, drops


def perfect(case: Case) -> tuple[list[dict[str, Any]], list[float], list[TrueFlow]]:
    """The rows and drops of a perfect generator, and the log of perfect stub nodes."""
    content: list[dict[str, Any]] = []
    flows: list[TrueFlow] = []
    arrivals, drops = arrivals_of(case)
    for number, (intended, started) in enumerate(arrivals, start=1):
        index = len(flows)
        ended = started + case.delays_ms[index] / 1000
        for stall in case.stalls:
            ended = stall.at + stall.seconds if stall.at <= ended < stall.at + stall.seconds else ended
        has_succeeded = index not in case.failures
        outcome = "ok" if has_succeeded else "failed"
        if number not in case.dropped:
            flows.append(TrueFlow(number, simulation.ORIGIN + started, simulation.ORIGIN + ended, has_succeeded, 0.0))
        if number in case.dropped | case.lost:
            outcome = "unknown"
        content.append(simulation.row(number, started, ended, intended=intended, outcome=outcome))
    return content, drops, flows


def resolved_of(flow: TrueFlow | None) -> Resolved:
    """What the node says about a request without an answer."""
    if flow is None:
        return "not_started"
    return "ok" if flow.has_succeeded else "failed"


def observed(case: Case, folder: Path) -> measure.CaseResult:
    """A case that was measured without any error."""
    content, drops, flows = perfect(case)
    frame = rows.read_rows([simulation.write_rows(folder / f"{case.name}.ndjson", content)])
    by_request = {flow.request: flow for flow in flows}
    unknown = frame.filter(pl.col("outcome") == "unknown")
    found = {
        str(row["client_id"]): Resolution(resolved_of(by_request.get(int(row["request_id"]))), 0.0, row["tx_id"])
        for row in unknown.iter_rows(named=True)
    }
    frame = with_resolutions(frame, found)
    end = replace(simulation.end_words(content, case.pool, TOTAL, rate=RATE, drops=drops), started_at=simulation.ORIGIN)
    succeeded = sum(flow.has_succeeded for flow in flows)
    counted = judged(
        CountsEntry(
            flows=[FlowCount(flow=IOU, generator=succeeded, bridge=succeeded, node=succeeded)],
            vault_states=[
                VaultCount(state=simulation.IOU_STATE, node=node, counted=succeeded, expected=succeeded)
                for node in ("PartyA", "PartyB")
            ],
        )
    )
    seen = build.Observed(
        requests=frame,
        drops=pl.Series(drops, dtype=pl.Float64),
        metrics=pl.DataFrame(schema=METRICS_SCHEMA),
        end=end,
        counted=counted,
        warm_up=None,
        machine_use=lambda _: {},
        calibration=None,
        readings=(costs.Reading({}, {}), costs.Reading({}, {})),
    )
    observation = Observation(plan_of(measure.options_of(case)), seen, ENVIRONMENT)
    truth = measure.truth_of(case, flows, observation)
    return measure.CaseResult(
        case, truth, observation, checks_of(case, truth, build.build_step(observation.plan, seen))
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[measure.CaseResult]:
    folder = tmp_path_factory.mktemp("pipeline")
    return [observed(case, folder) for case in all_cases()]


def test_a_pipeline_without_error_passes_every_check(results: list[measure.CaseResult]) -> None:
    failed = [check for one in results for check in one.checks if not check.holds]
    assert failed == []
    assert sum(len(one.checks) for one in results) > 50


def test_every_broken_copy_is_caught(results: list[measure.CaseResult]) -> None:
    found = measure.caught(results)
    assert set(found) == set(BREAKAGES)
    assert all(found.values()), found


def test_the_delays_of_every_block_have_the_same_distribution() -> None:
    delays = stratified(lambda quantile: 1000 * quantile, 2000, seed=1)
    assert delays == stratified(lambda quantile: 1000 * quantile, 2000, seed=1)
    assert delays != stratified(lambda quantile: 1000 * quantile, 2000, seed=2)
    blocks = [sorted(delays[start : start + 100]) for start in range(0, 2000, 100)]
    assert all(block[:99] == blocks[0][:99] for block in blocks)
    assert nearest_rank(delays, 0.5) == pytest.approx(500, abs=10)
    assert nearest_rank(delays, 0.999) == pytest.approx(999, abs=1)


def test_a_line_of_the_log_is_read() -> None:
    line = {
        "clientId": "20261122T000000Z-pipeline-fixed-0a1b2c3d-17",
        "startedAt": 100.0,
        "startedMonotonicNs": 5_000_000_000,
        "dueMonotonicNs": 6_500_000_000,
        "endedMonotonicNs": 6_502_000_000,
        "outcome": "completed",
    }
    assert read_flow(line) == TrueFlow(17, 100.0, 101.5, has_succeeded=True, timer_error_ms=2.0)


def test_a_check_holds_within_its_tolerance() -> None:
    assert Check("c", "n", 100, 101.9, 0.02).holds
    assert not Check("c", "n", 100, 102.1, 0.02).holds
    assert Check("c", "n", math.inf, math.inf, 0.02).holds
    assert not Check("c", "n", 5.0, math.inf, 0.02).holds
    assert Check("c", "n", 7, 7, 0.0).holds
    assert not Check("c", "n", 7, 8, 0.0).holds


def test_a_percentile_cannot_be_told_by_no_more_than_it_is_in_doubt() -> None:
    within = Check("c", "p999", 400, 440, 0.02, doubt=48)
    assert (within.holds, within.cannot_be_told, within.fails) == (False, True, False)
    beyond = Check("c", "p999", 400, 460, 0.02, doubt=48)
    assert (beyond.holds, beyond.cannot_be_told, beyond.fails) == (False, False, True)
    assert Check("c", "p999", math.inf, 460, 0.02, doubt=48).fails
    assert Check("c", "p999", 400, math.inf, 0.02, doubt=48).fails
    assert Check("c", "flows counted by the node", 7, 8, 0.0).fails


@pytest.mark.parametrize(("late_ms", "doubt"), [(5.0, 0.0), (48.0, 48.0 + 11.0)])
def test_only_percentiles_are_in_doubt_when_timers_were_late(
    results: list[measure.CaseResult], late_ms: float, doubt: float
) -> None:
    one = results[0]
    step = build.build_step(one.observation.plan, one.observation.seen)
    checks = checks_of(one.case, replace(one.truth, timer_error_ms=late_ms, start_delay_ms=11.0), step)
    assert {check.name: check.doubt for check in checks if check.doubt or check.name in {"p50", "throughput"}} == {
        "throughput": 0.0,
        **dict.fromkeys(("p50", "p99", "p999") if doubt else ("p50",), doubt),
    }


def test_starts_that_were_late_are_known_from_the_stub_nodes_alone() -> None:
    case = all_cases()[0]
    flows = [
        TrueFlow(number, 100 + (number - 1) / RATE, 101 + number / RATE, has_succeeded=True, timer_error_ms=0.0)
        for number in range(1, 401)
    ]
    late = replace(flows[300], started_at=flows[300].started_at + 0.025)
    found = [of_open_load(case, known, (101.0, 102.0)) for known in (flows, [*flows[:300], late, *flows[301:]])]
    assert [one.start_delay_ms for one in found] == pytest.approx([0.0, 25.0])


def test_the_proxy_breaks_the_chosen_connections_only() -> None:
    seen: list[int] = []

    async def bridge(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readline():
            while (line := await reader.readline()) != b"\r\n":
                head += line
            length = int(head.lower().partition(b"content-length:")[2].split()[0])
            body = json.loads(await reader.readexactly(length))
            seen.append(int(body["clientId"].rpartition("-")[2]))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        writer.close()

    async def ask(port: int, number: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        body = json.dumps({"flow": "Iou", "clientId": f"run-0a1b-{number}"}).encode()
        writer.write(b"POST /v1/nodes/PartyA/flows HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        try:
            return await reader.read(100)
        except ConnectionError:
            return b""
        finally:
            writer.close()

    async def all_three() -> list[bytes]:
        behind = await asyncio.start_server(bridge, "127.0.0.1", 0)
        to = ("127.0.0.1", int(behind.sockets[0].getsockname()[1]))
        proxy = await asyncio.start_server(handler(to, frozenset({2}), frozenset({3})), "127.0.0.1", 0)
        port = int(proxy.sockets[0].getsockname()[1])
        async with behind, proxy:
            return [await ask(port, number) for number in (1, 2, 3)]

    first, dropped, lost = asyncio.run(all_three())
    assert first.startswith(b"HTTP/1.1 200 OK")
    assert (dropped, lost) == (b"", b"")
    assert seen == [1, 3], "the bridge never gets the dropped one, and answers the lost one"
