"""Measures what a scrape of each node costs its JVM, on a running lab without load.

    PYTHONPATH=monitoring:scripts:loadgen/locust .venv/bin/python -m scrape_cost

A node's page is fetched many times in a row from the container of the load generator. The CPU time is that of the
node's JVM meanwhile, by its own counter, without what it used at rest before. It takes some 20 s for each node.
"""

import json
import sys
from contextlib import closing
from dataclasses import dataclass

from corda_lab.clients.bridge import Bridge
from corda_lab.errors import LabError
from corda_lab.lab import shape
from corda_lab.lab.compose import Compose
from corda_lab.lab.settings import load_settings
from corda_lab.text import tables, ui

SCRAPES = 200
WARM_UP_SCRAPES = 50
REST_SECONDS = 15
FETCH_SECONDS_MAX = 20
MEASURE_SECONDS_MAX = 300
PROGRAM = """\
import json, sys, time, urllib.request
service, scrapes, warm_up, rest, limit = sys.argv[1], *map(int, sys.argv[2:])

def fetch():
    return urllib.request.urlopen(f"http://{service}:9404/metrics", timeout=limit).read().decode()

def cpu_seconds(page):
    return next(float(line.split()[1]) for line in page.splitlines() if line.startswith("process_cpu_seconds_total "))

before, started = cpu_seconds(fetch()), time.monotonic()
time.sleep(rest)
at_rest = (cpu_seconds(fetch()) - before) / (time.monotonic() - started)
for _ in range(warm_up):
    fetch()
before, started, lengths = cpu_seconds(fetch()), time.monotonic(), []
for _ in range(scrapes):
    began = time.monotonic()
    page = fetch()
    lengths.append(time.monotonic() - began)
used = cpu_seconds(page) - before - at_rest * (time.monotonic() - started)
lines = sum(not line.startswith("#") for line in page.splitlines())
print(json.dumps({"cpu_ms": 1000 * used / scrapes, "median_ms": 1000 * sorted(lengths)[scrapes // 2], "series": lines}))
"""


@dataclass(frozen=True)
class Cost:
    """What a scrape of a node costs: CPU time and median duration in ms, and the series that it has."""

    cpu_ms: float
    median_ms: float
    series: int


def measure(lab: Compose, node: str) -> Cost:
    """Scrape a node again and again. Raises LabError."""
    arguments = [node.lower(), *map(str, (SCRAPES, WARM_UP_SCRAPES, REST_SECONDS, FETCH_SECONDS_MAX))]
    done = lab.exec("locust", "python3", "-c", PROGRAM, *arguments, seconds_max=MEASURE_SECONDS_MAX)
    return Cost(**json.loads(done.stdout))


def main() -> int:
    """Measure every node of the running lab. Returns the exit status."""
    try:
        running = shape.of_running(load_settings())
        with closing(Bridge(running.bridge_url, running.bridge_token)) as bridge:
            nodes = list(bridge.nodes())
        lab = Compose(running)
        made = tables.table("node", "CPU, ms", "median, ms", "series", numbers=("CPU, ms", "median, ms", "series"))
        for node in nodes:
            cost = measure(lab, node)
            made.add_row(node, f"{cost.cpu_ms:.1f}", f"{cost.median_ms:.1f}", str(cost.series))
    except LabError as error:
        ui.print_error(error)
        return error.exit_code
    tables.show(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
