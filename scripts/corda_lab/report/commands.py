"""The commands that start a step's lab and its load again, from what its run has stored."""

import shlex
from collections.abc import Mapping

from corda_lab.knobs.shape import BY_NAME, LAB_IMAGES
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.load import LOAD_OPTIONS


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
    values = {
        "duration": round(step.window.seconds),
        "warm_up": round(step.window.warm_up_seconds),
        "arrivals": step.load.arrivals,
        "node": step.node,
        # A mix has several, which are those of its parts.
        "counterparty": step.counterparty if "," not in (step.counterparty or "") else None,
    }
    words = ["scripts/lab", "run", step.workload]
    for option in LOAD_OPTIONS.values():
        value = getattr(step.load, option.stored) if option.stored else values.get(option.name)
        words += [] if value is None else option.words(option.text(value))
    for name, value in step.load.overrides.items():
        words += ["--set", f"{name}={value}"]
    return shlex.join(words)
