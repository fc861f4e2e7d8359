"""``lab bench stages``: the cost of timing a flow's stages, in microseconds per flow."""

import json
from dataclasses import dataclass

from corda_lab.errors import LabError
from corda_lab.host.processes import last_words
from corda_lab.lab.compose import Compose
from corda_lab.lab.deployed import RUN_LABEL
from corda_lab.lab.settings import Settings
from corda_lab.text import ui

STAGE_COST_CLASS = "org.cordalab.timing.StageCost"
STAGE_COST_CLASS_PATH = "/opt/corda/cordapps/*:/opt/corda/lib/*"
BENCH = "bench-stages"
STAGE_COST_SECONDS_MAX = 300.0


@dataclass(frozen=True)
class StageCost:
    """The cost of timing the stages of a flow, in µs: of the thread that waits for it, and of all of the JVM's CPU."""

    flows: int
    """The number of flows over which the costs are means."""
    caller_us_per_flow: float
    cpu_us_per_flow: float
    rows_dropped: int
    """Stage rows that were lost so far."""


def measure(settings: Settings) -> None:
    """Measure the cost of timing a flow's stages in a JVM of the node's image, and print it. Raises LabError."""
    with ui.phase("Measuring the cost of stage timing, in a container of the node's image"):
        done = Compose(settings).run(
            *("run", "--rm", "--no-deps", "-T", "--label", f"{RUN_LABEL}={BENCH}", "--entrypoint", "java", "bootstrap"),
            *("-Xmx128m", "-classpath", STAGE_COST_CLASS_PATH, STAGE_COST_CLASS),
            check=False,
            seconds_max=STAGE_COST_SECONDS_MAX,
        )
        batches = parse_stage_cost(done.stdout)
        if done.returncode != 0 or not batches:
            raise LabError(
                f"The benchmark printed no result: {last_words(done.stderr or done.stdout)}",
                "If the image is missing, `scripts/lab up` builds it.",
                exit_code=1,
            )
    ui.console.print()
    ui.console.print("[bold]  flows   flow waits   CPU of the JVM[/bold]  (µs per flow)")
    for batch in batches:
        ui.console.print(
            f"{batch.flows:7,d} {batch.caller_us_per_flow:12.1f} {batch.cpu_us_per_flow:16.1f}", markup=False
        )
    ui.console.print("The first lines are from a JVM that has just started, the last from a warm JVM.", markup=False)


def parse_stage_cost(text: str) -> list[StageCost]:
    """Parse the batches that ``StageCost`` printed. Other lines, from the start of the container, are ignored."""
    return [StageCost(**json.loads(line)) for line in text.splitlines() if line.startswith('{"flows"')]
