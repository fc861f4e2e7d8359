"""Whether a step is valid, which warnings it has, and whether it passed."""

import math

from corda_lab.stats.steady import STEADY_METHOD
from corda_lab.steps import open_load, rows, stages
from corda_lab.steps.entry import ConditioningEntry, StepEntry, slowdown
from corda_lab.steps.reasons import Reason, reason
from lab_workload.load import ALL_FAILED, OUT_OF_TIME

UNFINISHED = {OUT_OF_TIME: "out_of_time", "stopped": "stopped_by_hand", "interrupted": "stopped_by_hand"}
"""Why a load that ends after a number of flows has not made all of them, by how the generator ended it."""
NOT_STEADY = "conditioning_not_steady"
SWAPPED_PAGES_MAX = 256
"""Swapped pages above which a step is invalid: 1 MiB. With more, the host measures its disk."""

CHANCE_DEVIATIONS = 2.0
"""Two counts whose difference is within this many standard deviations of Poisson arrivals differ by chance only."""

SLOWDOWN_MAX = 1.1
"""How many times longer the same piece of work may take before a step has a warning."""

OTHERS_SHARE_MAX = 0.25
"""Share of the machine's cores that other processes may use. Docker, health checks and the network need some."""

STOLEN_PERCENT_MAX = 5.0
"""CPU steal above which a step has a warning, in percent of the machine's CPU time."""

STOLEN_PERCENT_VALID = 25.0
"""CPU steal above which a step is invalid, in percent: it then shows the load of other VMs, not of the system."""


def halves(step: StepEntry) -> tuple[float, float]:
    """The throughput in the first and the second half of the window."""
    return step.value("first_half_per_second") or 0.0, step.value("second_half_per_second") or 0.0


def change(step: StepEntry) -> Reason | None:
    """How the throughput changed from the first to the second half of the window; None if it did not."""
    first, second = halves(step)
    percent = rows.deviation_percent(second, first)
    if percent is None:
        return reason("throughput_began_late") if second else None
    return reason("throughput_changed", percent=percent) if abs(percent) > rows.DRIFT_PERCENT_MAX else None


def is_beyond_chance(step: StepEntry) -> bool:
    """Whether the halves of the window differ by more than ``CHANCE_DEVIATIONS`` of Poisson arrivals."""
    first, second = (rate * step.window.seconds / 2 for rate in halves(step))
    return abs(second - first) > CHANCE_DEVIATIONS * math.sqrt(first + second)


def machine_trouble(step: StepEntry) -> list[Reason]:
    """Why the host made the step invalid. Any other load would have been affected too, so the step is rerun."""
    found = []
    swapped, stolen = step.value("host_swapped_pages"), step.value("host_stolen_percent")
    if swapped is not None and swapped > SWAPPED_PAGES_MAX:
        found.append(reason("swapped", pages=swapped))
    if stolen is not None and stolen > STOLEN_PERCENT_VALID:
        found.append(reason("cpu_steal", percent=stolen))
    return found


def unsteadiness(step: StepEntry) -> list[Reason]:
    """Why the throughput of a step was not steady. Such a step stays in every mean, because a stall is a result too.

    A step without a warm-up shows how nodes warm up, and is never unsteady.
    """
    changed = change(step)
    if changed is None or not step.warm_up.seconds_max or not is_beyond_chance(step):
        return []
    found = [changed]
    if not step.warm_up.found:
        found.append(reason("warm_up_not_found", seconds_max=round(step.warm_up.seconds_max, 1)))
    return found


def invalidity(step: StepEntry) -> list[Reason]:
    """Why a step is invalid and in no mean: the generator, the machine, counts that differ, or missing flows."""
    return generator_limits(step) + machine_trouble(step) + unfinished(step) + step.counts.disagreements


def unfinished(step: StepEntry) -> list[Reason]:
    """Why a load that ends after a number of flows is not complete. Empty if it is, and for any other load."""
    wanted, found = step.load.flows_max, UNFINISHED.get(step.generator.exit_reason or "")
    return [] if wanted is None or found is None else [reason(found, started=step.requests.total, wanted=wanted)]


def has_node_trouble(step: StepEntry) -> bool:
    """Whether the logs of the nodes may say why a step failed, or why it is invalid."""
    not_theirs = [*generator_limits(step), *step.validity.machine]
    return not step.verdict.passed or any(one not in not_theirs for one in step.validity.reasons)


def generator_limits(step: StepEntry) -> list[Reason]:
    found = []
    cpu = step.generator.cpu_percent_max
    if cpu is not None and cpu > rows.GENERATOR_CPU_PERCENT_MAX:
        found.append(reason("generator_cpu", percent=cpu))
    limit = open_load.generator_was_limit(step)
    return found + ([limit] if limit else [])


def host_warnings(step: StepEntry) -> list[Reason]:
    found = []
    others, cores = step.value("others_cpu_cores"), step.value("host_cores")
    if others is not None and cores is not None and others > OTHERS_SHARE_MAX * cores:
        found.append(reason("others_busy", cores=others, of=cores))
    stolen = step.value("host_stolen_percent")
    if stolen is not None and stolen > STOLEN_PERCENT_MAX:
        found.append(reason("cpu_steal", percent=stolen))
    factor = step.calibration.slowdown if step.calibration else None
    if factor is not None and factor > SLOWDOWN_MAX:
        found.append(reason("cpu_slowed", factor=factor))
    return found


def slower_than(first: StepEntry, step: StepEntry) -> list[Reason]:
    """The warning that the processor is slower than before the ``first`` step of a sweep. Empty if it is not."""
    before, now = first.calibration, step.calibration
    if before is None or now is None or before.work != now.work:
        return []
    factor = slowdown(before.before, now.before)
    return [reason("cpu_slower_than_first", factor=factor)] if factor and factor > SLOWDOWN_MAX else []


def conditioning_warnings(step: StepEntry, before: ConditioningEntry) -> list[Reason]:
    """The warning that conditioning left the nodes unsteady; none if the step itself warmed up until steady."""
    was_steady = before.steady or (step.warm_up.method == STEADY_METHOD and step.warm_up.found)
    return [] if was_steady else [reason(NOT_STEADY, seconds=before.seconds)]


def was_ended_for_failures(step: StepEntry) -> bool:
    return step.generator.exit_reason == ALL_FAILED


def warnings(step: StepEntry) -> list[Reason]:
    if was_ended_for_failures(step):
        return []
    found = []
    if not step.littles_law_holds:
        deviation, unknown = step.value("littles_law_percent"), reason("littles_law_unknown")
        found.append(unknown if deviation is None else reason("littles_law_off", percent=deviation))
    found += generator_limits(step)
    behind = open_load.system_could_not_keep_up(step)
    found += [behind] if behind else []
    found += host_warnings(step)
    # In closed load, users wait for one another, so their flows are far more regular than Poisson arrivals. A number of
    # flows may be so small that one more or less in a half is a large change.
    changed = change(step)
    if changed and (is_beyond_chance(step) or not (step.load.is_open or step.load.is_counted)):
        found.append(changed)
    if not step.warm_up.found:
        found.append(reason("warm_up_not_found", seconds_max=round(step.warm_up.seconds_max, 1)))
    spawned_at = step.window.spawned_at
    # A load that ends after a number of flows may begin with its first.
    if not step.load.is_counted and (spawned_at is None or spawned_at > step.window.started_at):
        found.append(reason("still_spawning"))
    found += [reason("restarted", name=name) for name in step.counts.restarted]
    return found + stages.warnings(step.stages)


def unknown_outcomes(step: StepEntry) -> list[Reason]:
    """How many requests had an unknown outcome, and what became of them. Empty if there were none."""
    unknown, total, later = step.requests.unknown, step.requests.total, step.resolved
    if not unknown:
        return []
    said = reason(
        "outcomes_resolved",
        unknown=unknown,
        total=total,
        ok=later.ok,
        failed=later.failed,
        not_started=later.not_started,
        seconds=later.seconds,
    )
    left = unknown - later.ok - later.failed - later.not_started
    return [said, reason("outcomes_unknown", left=left, unknown=unknown)] if left else [said]


def verdict(step: StepEntry) -> list[Reason]:
    if was_ended_for_failures(step):
        requests, seconds = step.requests, step.window.seconds
        failed = reason("all_failed", errors=requests.unwanted, total=requests.total, seconds=seconds)
        return [failed, *step.counts.disagreements]
    found = []
    if step.throughput_per_second == 0:
        found.append(reason("nothing_completed"))
    if step.requests.failed:
        found.append(reason("requests_failed", errors=step.requests.failed, total=step.requests.total))
    found += unknown_outcomes(step)
    if step.generator.exit_reason == "failed":
        found.append(reason("generator_failed"))
    return found + step.counts.disagreements
