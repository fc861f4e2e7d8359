"""The commands that reproduce a stored step: the one that starts its lab, and the one that runs its load."""

import shlex

from corda_lab.knobs.shape import KNOBS, LAB_IMAGES
from corda_lab.results.manifest import Environment
from corda_lab.steps.entry import StepEntry
from corda_lab.steps.load import COMMON, flag, text_of
from lab_workload.load import FIELDS, OPTIONS


def up(environment: Environment) -> str:
    """The ``lab up`` command of a lab. It sets the whole shape, so it does not depend on the ``.env`` of the reader."""
    shape, placed = environment.shape, environment.placement
    words = ["scripts/lab", "up"]
    for knob in KNOBS:
        value = shape.get(knob.variable, "")
        words += [] if value.startswith(LAB_IMAGES) else knob.words(value)
    words += ["--on", placed.name] if placed else []
    return shlex.join(words)


def run(step: StepEntry) -> str:
    """The ``lab run`` command of the load of a step, with the warm-up and the measuring window that the step had."""
    load = step.load
    times = {"duration": round(step.window.seconds), "warm_up": round(step.window.warm_up_seconds)}
    own = {
        **(dict.fromkeys(times) if load.is_counted else times),
        "arrivals": None if load.model == "closed" else load.arrivals,
        "node": None if step.by_node else step.node,
        "nodes": tuple(values.node for values in step.by_node) or None,
        # The counterparties of a mix are those of its parts, and of several nodes those of the ring that they form.
        "counterparty": step.counterparty if "," not in (step.counterparty or "") else None,
        "name": None,
    }
    words = ["scripts/lab", "run", step.workload]
    for key in OPTIONS:
        value = own[key] if key in own else load.of_model(FIELDS[key])
        if value is not None:
            text = text_of(key, value)
            words += [flag(key), text] if key in COMMON else ["--set", f"{key}={text}"]
    for name, value in load.overrides.items():
        # A field of the load that has the same name would be meant otherwise.
        words += ["--set", f"workload.{name}={value}" if name in OPTIONS else f"{name}={value}"]
    return shlex.join(words)
