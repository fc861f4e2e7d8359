"""The commands that start a step's lab and its load again, from what its run has stored."""

import shlex
from collections.abc import Mapping

from corda_lab.knobs.shape import BY_NAME, LAB_IMAGES
from corda_lab.steps.entry import StepEntry
from corda_lab.text.durations import format_duration


def up(shape: Mapping[str, str]) -> str:
    """The ``lab up`` of a shape, every option written out, so that it does not depend on the reader's .env."""
    words = ["scripts/lab", "up"]
    for knob in BY_NAME.values():
        # A run that was stored before there was a knob has no value of it.
        words += knob.words(shape.get(knob.variable, ""))
    own_image = shape.get("CORDA_IMAGE", "")
    is_own = own_image and not own_image.startswith(LAB_IMAGES)
    return (f"CORDA_IMAGE={own_image} " if is_own else "") + shlex.join(words)


def run(step: StepEntry) -> str:
    """The ``lab run`` of a step's load. Its window is as long as this step's was, its warm-up too."""
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
