"""Whether a step is valid, what makes it doubtful, and whether it passed."""

import math
import os
from typing import Any

from corda_lab.steps import open_load, rows, stages

SWAPPED_PAGES_MAX = 256
"""1 MiB: a machine that swaps more than that while it measures measures its disk."""


CHANCE_DEVIATIONS = 2.0
"""Standard deviations of a difference of counts, were every arrival by chance, within which nothing is made of it."""


OTHERS_SHARE_MAX = 0.25
"""Share of the machine's processors that others than the lab may use: Docker, the health checks and the network need some."""


STOLEN_PERCENT_MAX = 5.0
"""Share of the machine's processor time that its hypervisor may give to other guests before a step is doubtful."""


STOLEN_PERCENT_VALID = 25.0
"""The same share beyond which a step shows how much the other guests wanted, and nothing of the system."""


def has_changed(step: dict[str, Any]) -> bool:
    """Whether the throughput of the window's halves differs by more than the limit."""
    halves = step["steadiness"]
    if halves["change_percent"] is None:
        return bool(halves["second_half_per_second"] > 0)
    return bool(abs(halves["change_percent"]) > rows.DRIFT_PERCENT_MAX)


def change_words(step: dict[str, Any]) -> str:
    """How the throughput of the window's halves differs."""
    change = step["steadiness"]["change_percent"]
    if change is None:
        return "nothing was completed in the first half of the window"
    return f"throughput changed by {change:+.0f} % from the first to the second half of the window"


def is_beyond_chance(step: dict[str, Any]) -> bool:
    """Whether the halves of the window differ by more than flows that come by chance would."""
    halves = step["steadiness"]
    counted = [
        halves[name] * step["window"]["seconds"] / 2 for name in ("first_half_per_second", "second_half_per_second")
    ]
    return bool(abs(counted[1] - counted[0]) > CHANCE_DEVIATIONS * math.sqrt(sum(counted)))


def is_unsteady(step: dict[str, Any]) -> bool:
    """Whether throughput changed, and not by chance. Not asked without a warm-up: that is to show how a node warms up."""
    return has_changed(step) and step["warm_up"]["seconds_max"] > 0 and is_beyond_chance(step)


def machine_trouble(step: dict[str, Any]) -> list[str]:
    """What the machine itself did while it measured, a sentence each: no other load would have fared better at that time."""
    found = []
    swapped = step["resources"]["host_swapped_pages"]
    if swapped is not None and swapped > SWAPPED_PAGES_MAX:
        found.append(f"the machine swapped {swapped} pages while it was measured")
    stolen = step["resources"]["host_stolen_percent"]
    if stolen is not None and stolen > STOLEN_PERCENT_VALID:
        found.append(f"other guests took {stolen:.0f} % of this machine's processor time while it was measured")
    return found


def invalidity(step: dict[str, Any]) -> list[str]:
    """Why a step says nothing of the system, a sentence each: it is shown, and left out of every mean."""
    found = generator_limits(step) + machine_trouble(step)
    if is_unsteady(step):
        how = "" if step["warm_up"]["found"] else "; no end of the warm-up was found"
        found.append(change_words(step) + how)
    if step["counts"]["disagreements"]:
        found.append("the counts do not agree")
    return found


def generator_limits(step: dict[str, Any]) -> list[str]:
    """Why the generator itself may have been what limited the load, a sentence each."""
    found = []
    cpu = step["generator"]["cpu_percent_max"]
    if cpu is not None and cpu > rows.GENERATOR_CPU_PERCENT_MAX:
        found.append(f"the generator used up to {cpu:.0f} % of its core and may have been the limit itself")
    reason = open_load.generator_was_limit(step["open_load"]) if step["open_load"] else None
    if reason:
        found.append(f"the generator was the limit: {reason}")
    return found


def flags(step: dict[str, Any]) -> list[str]:
    """What makes the figures of a step doubtful, a sentence each."""
    found = []
    law = step["littles_law"]
    if not law["holds"]:
        deviation = law["deviation_percent"]
        off = "cannot be checked" if deviation is None else f"is off by {deviation:+.1f} %"
        found.append(f"Little's law {off}: the load was not steady, or requests were lost")
    found += generator_limits(step)
    behind = open_load.system_could_not_keep_up(step["open_load"]) if step["open_load"] else None
    if behind:
        found.append(behind)
    others, cores = step["resources"]["others_cpu_cores"], os.cpu_count() or 1
    if others is not None and others > OTHERS_SHARE_MAX * cores:
        found.append(f"something else used {others:.1f} of this machine's {cores} cores")
    stolen = step["resources"]["host_stolen_percent"]
    if stolen is not None and stolen > STOLEN_PERCENT_MAX:
        found.append(f"other guests took {stolen:.0f} % of this machine's processor time")
    # Users who wait for one another come far more evenly than by chance.
    if has_changed(step) and (not step["open_load"] or is_beyond_chance(step)):
        found.append(f"{change_words(step)}: not steady yet")
    if not step["warm_up"]["found"]:
        found.append(f"no end of the warm-up was found within its longest time of {step['warm_up']['seconds_max']:g} s")
    spawned_at = step["window"]["spawned_at"]
    if spawned_at is None or spawned_at > step["window"]["started_at"]:
        found.append("users were still starting when the measuring window began")
    return found + stages.doubts(step["stages"])


def verdict(step: dict[str, Any]) -> list[str]:
    """Why a run has failed, a sentence each; nothing when it has not."""
    reasons = []
    requests = step["requests"]
    if step["throughput_per_second"] == 0:
        reasons.append("no flow was completed while it was measured")
    if requests["errors"]:
        reasons.append(f"{requests['errors']} requests ended in an error")
    if step["generator"]["exit_reason"] == "failed":
        reasons.append("the generator broke the load off")
    if step["counts"]["disagreements"]:
        reasons.append("the counts do not agree: " + "; ".join(step["counts"]["disagreements"]))
    return reasons
