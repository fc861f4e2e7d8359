"""Benchmark of the generator: the requests per second that it starts on time with one core and a stub bridge.

    docker compose run --rm --no-deps --entrypoint python --volume "$PWD/tests/evidence:/evidence:ro" locust \\
        /evidence/generator_rate.py --rate 1000 --arrivals poisson

Run it on an idle machine, in the generator's image or wherever Locust is installed. The stub bridge is a separate
process, so a second core is needed. The lag is how much later than intended a request started. The target: at 1,000
requests per second, no arrival is dropped and p99 of the lag is below 10 ms.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
IMAGE = Path("/opt/corda-lab")
GENERATOR = IMAGE if IMAGE.is_dir() else HERE.parents[1] / "loadgen" / "locust"
LAG_MS_MAX = 10.0
WARM_UP_SECONDS = 2.0
WORKLOAD = """\
description: An IOU for a bridge that makes none.
node: PartyA
counterparty: PartyB
flow: org.cordalab.flows.Iou
args:
  iouValue: "{{ random_int(1, 99) }}"
  otherParty: "{{ counterparty }}"
"""


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rate", type=float, default=1000.0, help="arrivals per second")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--arrivals", choices=("constant", "poisson"), default="poisson")
    parser.add_argument("--pool", type=int, default=200)
    parser.add_argument("--delay", type=float, default=0.02, help="seconds until the stub answers")
    return parser.parse_args()


def run(asked: argparse.Namespace, folder: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Make a headless run against the stub. Returns its rows and its end file."""
    (folder / "workloads").mkdir()
    (folder / "rows").mkdir()
    (folder / "workloads" / "iou.yaml").write_text(WORKLOAD)
    command = [sys.executable, str(HERE / "stub_bridge.py"), str(asked.delay)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as stub:
        assert stub.stdout is not None
        port = int(stub.stdout.readline())
        environment = {
            **os.environ,
            "BRIDGE_URL": f"http://127.0.0.1:{port}",
            "LAB_WORKLOADS_DIR": str(folder / "workloads"),
            "LAB_ROWS_DIR": str(folder / "rows"),
            "LAB_METRICS_PORT": os.environ.get("LAB_METRICS_PORT", "19646"),
        }
        locust = [str(Path(sys.executable).with_name("locust")), "-f", str(GENERATOR / "locustfile.py"), "--headless"]
        load = ["--arrivals", asked.arrivals, "--rate", str(asked.rate), "--users", str(asked.pool)]
        extent = ["--run-time", f"{asked.seconds}s", "--stop-timeout", "10", "--set-parameters", "name=benchmark"]
        try:
            done = subprocess.run(
                [*locust, *load, *extent, "--only-summary"],
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
        finally:
            stub.kill()
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    rows = [json.loads(line) for line in (folder / "rows" / "benchmark.ndjson").read_text().splitlines()]
    return rows, json.loads((folder / "rows" / "benchmark.end.json").read_text())


def quantile(values: list[float], share: float) -> float:
    """Return the value at ``share`` (0 to 1) of the sorted ``values``."""
    return values[min(len(values) - 1, int(share * len(values)))]


def main() -> None:
    """Run the benchmark and print the results. Exit status 1 if the generator missed the target."""
    asked = arguments()
    with tempfile.TemporaryDirectory(prefix="corda-lab-benchmark-") as folder:
        rows, end = run(asked, Path(folder))
    warm = [row for row in rows if row["intended_at"] >= end["spawned_at"] + WARM_UP_SECONDS]
    lags = sorted(1000 * (row["started_at"] - row["intended_at"]) for row in warm)
    seconds = end["stop_at"] - end["spawned_at"] - WARM_UP_SECONDS
    print(f"arrivals      {asked.arrivals}, {asked.rate:g}/s, pool of {asked.pool}, delay {1000 * asked.delay:g} ms")
    print(f"achieved      {len(warm) / seconds:.1f} requests/s over {seconds:.1f} s (warm-up {WARM_UP_SECONDS:g} s)")
    unwanted = end["outcomes"]["failed"] + end["outcomes"]["unknown"]
    print(f"not answered  {unwanted}, offered {end['offered']}, late {end['late']}, dropped {end['dropped']}")
    print(f"schedule lag  p50 {quantile(lags, 0.5):.2f} ms, p99 {quantile(lags, 0.99):.2f} ms, max {lags[-1]:.2f} ms")
    print(f"CPU           at most {end['cpu_percent_max']:.0f} % of one core, over five seconds")
    sys.exit(unwanted > 0 or end["dropped"] > 0 or quantile(lags, 0.99) >= LAG_MS_MAX)


if __name__ == "__main__":
    main()
