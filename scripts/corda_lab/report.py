"""``report.html``: one file that opens offline, made from the stored files of a run and from nothing else."""

import importlib.resources
import tempfile
from pathlib import Path
from typing import Any

import jinja2
import polars as pl

from corda_lab import charts, shape, stages
from corda_lab.errors import LabError
from corda_lab.results import SCHEMA, read_json
from corda_lab.rows import Window

TEMPLATES = Path(__file__).parent / "templates"

STAGE_MEANINGS = {
    "start": "from sending the request until the node had created the flow: HTTP, bridge, RPC",
    "wait": "until the node's flow thread took it up",
    "select": "choosing coins or assets, resolving inputs",
    "build": "making the transaction",
    "verify": "running contracts",
    "sign": "the node's own signature",
    "collect_signatures": "until the other parties' signatures were there",
    "notarise": "until the notary's signature was there",
    "finalise": "recording here and sending to the others",
    "record": "until the transaction was recorded here",
    "other": "what lies between these",
    "end": "from the flow's end until the generator had the answer: RPC, bridge, HTTP",
}
"""What a flow does in each stage, for people."""


def plural(count: int, word: str) -> str:
    """``1 flow``, ``2 flows``."""
    return f"{count:,} {word}" + ("" if count == 1 else "s")


def milliseconds(value: float | None) -> str:
    """A latency for people: three digits are enough."""
    if value is None:
        return "–"
    if value >= 1000:
        return f"{value / 1000:.2f} s"
    return f"{value:.0f} ms" if value >= 100 else f"{value:.1f} ms"


def machine(run: dict[str, Any]) -> str:
    """The machine in a few words."""
    host = run["host"]
    memory = "" if host["memory_bytes"] is None else f", {host['memory_bytes'] / 1024**3:.0f} GiB"
    return f"{plural(host['cpu_count'] or 0, 'core')} of {host['cpu_model']}{memory}, {host['kernel']}"


def short(class_name: str) -> str:
    """A class without its package."""
    return class_name.rpartition(".")[2]


def flow_names(step: dict[str, Any]) -> list[str]:
    """Short names of the flows that were started, each once."""
    return list(dict.fromkeys(short(part["flow"]) for part in step["parts"]))


def achievement(step: dict[str, Any]) -> str:
    """Who achieved what rate, of which flows, where."""
    load, names = step["load"], flow_names(step)
    rate = f"{step['throughput_per_second']:,.2f}"
    flows = (
        f"{rate} {names[0]} flows per second"
        if len(names) == 1
        else f"{rate} flows per second, a mix of {listed(names)},"
    )
    place = f"on {step['node']}" + (f" with {step['counterparty']}" if step["counterparty"] else "")
    if load["model"] == "closed":
        return f"{plural(load['users'], 'user')} achieved {flows} {place}"
    return f"Of {load['rate_per_second']:g} {load['arrivals']} arrivals per second the lab achieved {flows} {place}"


def listed(names: list[str]) -> str:
    """``A, B and C``."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def headline(step: dict[str, Any]) -> str:
    """What was achieved, in one sentence."""
    text = achievement(step)
    latency = judged_latency(step)
    if latency["p50"] is None:
        return f"{text}: no flow was completed in the measuring window."
    # Of fewer than 100 requests none stands for 1 in 100.
    slow = (
        f"1 in 100 longer than {milliseconds(latency['p99'])}"
        if latency["count"] >= 100
        else f"the slowest {milliseconds(latency['max'])}"
    )
    since = " from the intended start" if step["open_load"] else ""
    return f"{text}: half took at most {milliseconds(latency['p50'])}{since}, {slow}."


def judged_latency(step: dict[str, Any]) -> dict[str, Any]:
    """The latency that counts: in open load from the intended start, so that waiting for a place is in it."""
    latency: dict[str, Any] = step["latency_intended_ms"] if step["open_load"] else step["latency_ms"]
    return latency


def sentences(run: dict[str, Any], step: dict[str, Any]) -> list[str]:
    """What else a reader has to know before using the number."""
    requests, counted = step["requests"], step["counts"]
    expected = requests["expected"]
    if expected:
        rest = "." if requests["errors"] else ", none otherwise."
        found = [f"{plural(expected, 'request')} failed as the workload expects{rest}"]
    else:
        found = [] if requests["errors"] else ["No request failed."]
    if counted["agree"]:
        found.append(f"All counts agree: {plural(counted['generator'], 'flow')}.")
    if step["throughput_states_per_second"] is not None:
        found.append(f"The flows made {step['throughput_states_per_second']:,.2f} states per second.")
    consensus = step["stages"]["consensus_latency_ms"]
    if consensus["count"]:
        half = milliseconds(consensus["p50"])
        found.append(f"Half of the transactions were committed everywhere within {half} of the notary's signature.")
    busy = step["resources"]["host_busy_percent"]
    if busy is not None:
        limit = ": the processor was the limit" if busy >= 90 else ""
        found.append(f"The machine ({machine(run)}) was {busy:.0f} % busy{limit}.")
    else:
        found.append(f"The machine: {machine(run)}.")
    found.append("One run gives no interval: repeat it before comparing it with another.")
    return found


def tiles(step: dict[str, Any]) -> list[dict[str, str]]:
    """The figures at the top, each with what it is."""
    latency, requests, counted = judged_latency(step), step["requests"], step["counts"]
    since = ", from the intended start" if step["open_load"] else ""
    states = step["throughput_states_per_second"]
    return [
        {
            "name": "throughput",
            "value": f"{step['throughput_per_second']:,.2f}",
            "unit": "flows/s",
            "state": "",
            "detail": f"{requests['window_ok'] + requests['window_expected']:,} in {step['window']['seconds']:.0f} s",
        },
        *(
            []
            if states is None
            else [
                {
                    "name": "states",
                    "value": f"{states:,.2f}",
                    "unit": "states/s",
                    "state": "",
                    "detail": "made by these flows",
                }
            ]
        ),
        *(
            {
                "name": name,
                "value": milliseconds(latency[name]).split()[0],
                "unit": milliseconds(latency[name]).split()[-1],
                "state": "",
                "detail": detail + since,
            }
            for name, detail in (
                ("p50", "half took no longer"),
                ("p95", "19 of 20 took no longer"),
                ("p99", "99 of 100 took no longer"),
            )
        ),
        {
            "name": "errors",
            "value": f"{requests['errors']:,}",
            "unit": "",
            "state": "bad" if requests["errors"] else "good",
            "detail": f"of {plural(requests['total'], 'request')}",
        },
        {
            "name": "four counts",
            "value": "agree" if counted["agree"] else "differ",
            "unit": "",
            "state": "good" if counted["agree"] else "bad",
            "detail": f"{counted['generator']:,} by the generator",
        },
    ]


def count_rows(step: dict[str, Any]) -> list[dict[str, str]]:
    """The four counts as table rows: each flow class by three observers, then each vault with each class of state.

    ``state`` is empty for the generator's own count, which the others are compared with.
    """

    def compared(name: str, what: str, count: str, expected: str) -> dict[str, str]:
        state = "good" if count == expected else "bad"
        return {"name": name, "what": what, "count": count, "expected": expected, "state": state}

    entries = []
    for flow in step["counts"]["flows"]:
        name, generator = short(flow["flow"]), f"{flow['generator']:,}"
        entries += [
            {
                "name": "generator",
                "what": f"{name}: rows with outcome ok",
                "count": generator,
                "expected": "",
                "state": "",
            },
            compared("bridge", f"{name}: completions on {step['node']}", f"{flow['bridge']:,}", generator),
            compared("node", f"{name}: successes in {step['node']}'s JMX", f"{flow['node']:,}", generator),
        ]
    for vault in step["counts"]["vault_states"]:
        what = f"{short(vault['state'])}: change of unconsumed states"
        entries.append(compared(f"vault of {vault['node']}", what, f"{vault['counted']:+,}", f"{vault['expected']:+,}"))
    return entries


def load_facts(load: dict[str, Any]) -> str:
    """The shape of the load in a line."""
    by = f", {load['workers']} workers" if load["workers"] else ""
    if load["model"] == "open":
        return (
            f"open, {load['arrivals']} arrivals at {load['rate_per_second']:g}/s, pool of {load['users']}, "
            f"dropped when more than {load['late_max_seconds']:g} s late{by}, seed {load['seed']}"
        )
    return f"closed, {plural(load['users'], 'user')}, pacing {load['pacing_seconds']:g} s{by}, seed {load['seed']}"


def facts(run: dict[str, Any], step: dict[str, Any]) -> list[tuple[str, str]]:
    """The manifest in short."""
    load, versions, git = run["load"], run["versions"], run["git"]
    commit = (git["commit"] or "unknown")[:12] + (" with uncommitted changes" if git["has_changes"] else "")
    stand_ins = ", ".join(run["stand_ins"]) or "none: official images"
    java = ", ".join(f"{name} {version}" for name, version in versions["java"].items())
    law = step["littles_law"]
    deviation = law["deviation_percent"]
    return [
        ("Load", load_facts(load)),
        ("Overrides", ", ".join(f"{key}={value}" for key, value in load["overrides"].items()) or "none"),
        (
            "Time",
            f"{load['warm_up_seconds']:g} s warm-up, {load['duration_seconds']:g} s measured, from {run['started_at']}",
        ),
        (
            "Workload",
            f"{step['workload']}: {step['flow']} on {step['node']}"
            + (f" with {step['counterparty']}" if step["counterparty"] else ""),
        ),
        ("Unit of work", ", ".join(dict.fromkeys(part["unit"] for part in step["parts"]))),
        ("Shape of the lab", shape.describe(run["shape"]) if "shape" in run else "not kept by this run"),
        *(
            (f"Link {link['name']}", f"round trip {link['through_ms']:.1f} ms, {link['direct_ms']:.1f} ms without")
            for link in run.get("links_measured", ())
        ),
        ("Corda", f"{versions['corda']} (Java: {java})"),
        ("Docker", f"engine {versions['engine']}, Compose {versions['compose']}"),
        ("Commit", commit),
        ("Stand-ins for images", stand_ins),
        ("Machine", machine(run)),
        (
            "Little's law",
            f"{law['throughput_per_second']:.2f}/s × {law['latency_mean_seconds']:.3f} s = {law['product']:.2f}, "
            f"seen {law['in_flight_mean']:.2f} in flight"
            + ("" if deviation is None else f" ({deviation:+.1f} %)")
            + (
                ""
                if law["bridge_in_flight_mean"] is None
                else f"; the bridge's gauge says {law['bridge_in_flight_mean']:.2f}"
            ),
        ),
        (
            "Generator",
            "processor not known"
            if step["generator"]["cpu_percent_max"] is None
            else f"at most {step['generator']['cpu_percent_max']:.0f} % of one core",
        ),
    ]


def plotly_js() -> str:
    """The drawing library, from the installed package."""
    return (importlib.resources.files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")


def read_run(folder: Path) -> tuple[dict[str, Any], dict[str, Any], pl.DataFrame, pl.DataFrame, pl.DataFrame | None]:
    """The stored files of a run: manifest, step, rows, metrics, and stage rows where it has any."""
    run, stored = read_json(folder / "run.json"), read_json(folder / "steps.json")
    if stored.get("schema") != SCHEMA:
        raise LabError(
            f"{folder}: was measured by another version of the lab (schema {stored.get('schema')}, not {SCHEMA})",
            "Its own report.html still opens; this version cannot make it again.",
        )
    stage_file = folder / "stages.parquet"
    try:
        return (
            run,
            stored["steps"][0],
            pl.read_parquet(folder / "requests.parquet"),
            pl.read_parquet(folder / "metrics.parquet"),
            pl.read_parquet(stage_file) if stage_file.is_file() else None,
        )
    except (OSError, pl.exceptions.PolarsError) as error:
        raise LabError(
            f"{folder}: its tables cannot be read ({error})", "The run is damaged; choose another."
        ) from None


def consensus_latencies(rows: pl.DataFrame, stage_rows: pl.DataFrame | None, step: dict[str, Any]) -> pl.Series | None:
    """Consensus latency of the window's transactions in milliseconds, sorted; None where no transaction has one."""
    if stage_rows is None or not step["stages"]["consensus_latency_ms"]["count"]:
        return None
    window = Window(step["window"]["started_at"], step["window"]["ended_at"])
    transactions = stages.window_transactions(rows, window)
    return stages.complete_only(stages.consensus_latency(stage_rows, transactions))["latency_ms"].sort()


def page(folder: Path) -> str:
    """The report's text."""
    run, step, rows, metrics, stage_rows = read_run(folder)
    window = step["window"]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    drawn = charts.all_charts(rows, metrics, step, consensus_latencies(rows, stage_rows, step))
    span = {
        "warm_up_end": round(window["started_at"] - window["load_started_at"], 2),
        "stop": round(window["ended_at"] - window["load_started_at"], 2),
        "end": round(window["load_ended_at"] - window["load_started_at"], 2),
    }
    return environment.get_template("report.html").render(
        run=run,
        step=step,
        headline=headline(step),
        sentences=sentences(run, step),
        tiles=tiles(step),
        count_rows=count_rows(step),
        facts=facts(run, step),
        charts=drawn,
        data=charts.to_script({"charts": drawn, "span": span}),
        plotly=plotly_js(),
        style=(TEMPLATES / "report.css").read_text(encoding="utf-8"),
        script=(TEMPLATES / "report.js").read_text(encoding="utf-8"),
        milliseconds=milliseconds,
        short=short,
        stage_meanings=STAGE_MEANINGS,
        has_stage_rows=stage_rows is not None,
    )


def render(folder: Path) -> Path:
    """Write ``report.html`` of a run, whole or not at all, and return its path."""
    text = page(folder)
    path = folder / "report.html"
    with tempfile.NamedTemporaryFile("w", dir=folder, prefix=".report-", delete=False, encoding="utf-8") as file:
        file.write(text)
    staged = Path(file.name)
    staged.chmod(0o644)
    staged.replace(path)
    return path
