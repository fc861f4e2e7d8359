"""The commands that reproduce a stored step: the one that starts its lab, and the one that runs its load."""

import shlex
from collections.abc import Mapping

from corda_lab.knobs.shape import BY_NAME, LAB_IMAGES
from corda_lab.steps.entry import StepEntry
from corda_lab.text.durations import format_duration


def up(shape: Mapping[str, str]) -> str:
    """The ``lab up`` command of a shape. It sets every option, so it does not depend on the ``.env`` of the reader."""
    words = ["scripts/lab", "up"]
    for knob in BY_NAME.values():
        # A run that is older than a knob has no value for it.
        words += knob.words(shape.get(knob.variable, ""))
    own_image = shape.get("CORDA_IMAGE", "")
    is_own = own_image and not own_image.startswith(LAB_IMAGES)
    return (f"CORDA_IMAGE={own_image} " if is_own else "") + shlex.join(words)


def run(step: StepEntry) -> str:
    """The ``lab run`` command of the load of a step, with the warm-up and the measuring window that the step had."""
    load, window = step.load, step.window
    words = ["scripts/lab", "run", step.workload, "--users", str(load.users)]
    words += ["--duration", format_duration(round(window.seconds))]
    words += ["--warm-up", format_duration(round(window.warm_up_seconds))]
    words += ["--node", step.node]
    if step.counterparty and "," not in step.counterparty:
        words += ["--counterparty", step.counterparty]
    if load.model == "open":
        words += ["--arrivals", str(load.arrivals), "--rate", f"{load.rate_per_second:g}"]
        words += ["--late-max", format_duration(load.late_max_seconds or 0.0)]
    elif load.pacing_seconds:
        words += ["--pacing", format_duration(load.pacing_seconds)]
    if load.workers:
        words += ["--workers", str(load.workers)]
    words += ["--seed", str(load.seed)]
    for name, value in load.overrides.items():
        words += ["--set", f"{name}={value}"]
    return shlex.join(words)
