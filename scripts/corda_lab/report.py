"""``report.html``: one file that opens offline, made from the stored files of a run and from nothing else."""

import importlib.resources
import tempfile
from pathlib import Path
from typing import Any

import jinja2
import polars as pl

from corda_lab import charts
from corda_lab.errors import LabError
from corda_lab.results import read_json

TEMPLATES = Path(__file__).parent / "templates"


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


def headline(step: dict[str, Any]) -> str:
    """What was achieved, in one sentence."""
    flow = step["flow"].rpartition(".")[2]
    rate = step["throughput_per_second"]
    text = f"{step['load']['users']} users achieved {rate:,.2f} {flow} flows per second on {step['node']}"
    text += f" with {step['counterparty']}" if step["counterparty"] else ""
    latency = step["latency_ms"]
    if latency["p50"] is None:
        return f"{text}: no flow was completed in the measuring window."
    # Of fewer than 100 requests none stands for 1 in 100.
    slow = (
        f"1 in 100 longer than {milliseconds(latency['p99'])}"
        if latency["count"] >= 100
        else f"the slowest {milliseconds(latency['max'])}"
    )
    return f"{text}: half took at most {milliseconds(latency['p50'])}, {slow}."


def sentences(run: dict[str, Any], step: dict[str, Any]) -> list[str]:
    """What else a reader has to know before using the number."""
    requests, counted = step["requests"], step["counts"]
    found = [] if requests["errors"] else ["No request failed."]
    if counted["agree"]:
        found.append(f"All counts agree: {plural(counted['generator'], 'flow')}.")
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
    latency, requests, counted = step["latency_ms"], step["requests"], step["counts"]
    return [
        {
            "name": "throughput",
            "value": f"{step['throughput_per_second']:,.2f}",
            "unit": "flows/s",
            "state": "",
            "detail": f"{requests['window_ok']:,} in {step['window']['seconds']:.0f} s",
        },
        *(
            {
                "name": name,
                "value": milliseconds(latency[name]).split()[0],
                "unit": milliseconds(latency[name]).split()[-1],
                "state": "",
                "detail": detail,
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


def count_rows(step: dict[str, Any]) -> list[dict[str, Any]]:
    """The four counts as table rows."""
    counted = step["counts"]
    flow = step["flow"].rpartition(".")[2]
    entries = [
        ("generator", "rows with outcome ok", counted["generator"]),
        ("bridge", f"{flow} completions on {step['node']}", counted["bridge"]),
        ("node", f"successes of {flow} in {step['node']}'s JMX", counted["node"]),
        *((f"vault of {node}", "states recorded", count) for node, count in counted["vaults"].items()),
    ]
    return [
        {"name": name, "what": what, "count": f"{count:,}", "agrees": count == counted["generator"]}
        for name, what, count in entries
    ]


def facts(run: dict[str, Any], step: dict[str, Any]) -> list[tuple[str, str]]:
    """The manifest in short."""
    load, versions, git = run["load"], run["versions"], run["git"]
    commit = (git["commit"] or "unknown")[:12] + (" with uncommitted changes" if git["has_changes"] else "")
    stand_ins = ", ".join(run["stand_ins"]) or "none: official images"
    java = ", ".join(f"{name} {version}" for name, version in versions["java"].items())
    law = step["littles_law"]
    deviation = law["deviation_percent"]
    return [
        ("Load", f"closed, {plural(load['users'], 'user')}, pacing {load['pacing_seconds']:g} s, seed {load['seed']}"),
        (
            "Time",
            f"{load['warm_up_seconds']:g} s warm-up, {load['duration_seconds']:g} s measured, from {run['started_at']}",
        ),
        (
            "Workload",
            f"{step['workload']}: {step['flow']} on {step['node']}"
            + (f" with {step['counterparty']}" if step["counterparty"] else ""),
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


def read_run(folder: Path) -> tuple[dict[str, Any], dict[str, Any], pl.DataFrame, pl.DataFrame]:
    """The stored files of a run: manifest, step, rows, metrics."""
    run, steps = read_json(folder / "run.json"), read_json(folder / "steps.json")["steps"]
    try:
        return run, steps[0], pl.read_parquet(folder / "requests.parquet"), pl.read_parquet(folder / "metrics.parquet")
    except (OSError, pl.exceptions.PolarsError) as error:
        raise LabError(
            f"{folder}: its tables cannot be read ({error})", "The run is damaged; choose another."
        ) from None


def page(folder: Path) -> str:
    """The report's text."""
    run, step, rows, metrics = read_run(folder)
    window = step["window"]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    drawn = charts.all_charts(rows, metrics, step)
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
