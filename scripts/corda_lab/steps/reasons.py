"""Why a step is invalid, failed or has a warning: a code with values, and its sentence.

A reason is stored as ``{"code": …, "values": {…}}``. Its sentence is made only when it is shown. So several steps with
the same reason share one sentence with a range, and no program has to parse English.
"""

import string
from collections.abc import Iterable, Mapping, Sequence

from pydantic import BaseModel, ConfigDict, model_validator

Value = float | int | str

SENTENCES: Mapping[str, str] = {
    # What the host did.
    "swapped": "the host swapped {pages:,} pages during the measuring window",
    "cpu_steal": "CPU steal was {percent:.0f} % (other VMs on this host)",
    "others_busy": "other processes on this machine used {cores:.1f} of its {of} cores",
    "cpu_slowed": "the CPU slowed down: the same work took {factor:.2f} times as long after the load as before it",
    "cpu_slower_than_first": (
        "the CPU slowed down: the same work took {factor:.2f} times as long as before the first step of the sweep"
    ),
    # What the generator did.
    "generator_cpu": "the generator used up to {percent:.0f} % of its core, so it may have been the limit itself",
    "generator_late": (
        "the generator was the limit: {late:,} of {requests:,} requests started more than {allowed_ms:.0f} ms late"
        " although the pool had a free place"
    ),
    "generator_dropped": (
        "the generator was the limit: {dropped:,} arrivals were dropped although the pool had free places"
    ),
    "generator_failed": "the generator stopped the load with an error",
    "out_of_time": "the load had started only {started:,} of its {wanted:,} flows when its time was over",
    "stopped_by_hand": "the load was stopped when it had started {started:,} of its {wanted:,} flows",
    # Whether the nodes were warm.
    "node_cold": (
        "{node} had completed only {flows:,} flows since its start, and is still warming up (below {enough:,}); with"
        " --condition, a load conditions the nodes first"
    ),
    "conditioning_not_steady": "the nodes were not steady yet when their conditioning ended after {seconds:.0f} s",
    # Whether it was profiled.
    "profiled": (
        "a profiler sampled {nodes} for {seconds:.0f} s of the measuring window, which costs CPU time; compare the"
        " values only with those of a load that was profiled too"
    ),
    "profile_failed": "{node} could not be profiled: {why}",
    # Whether the load was steady.
    "littles_law_unknown": "Little's law cannot be checked: no request ended in the measuring window",
    "littles_law_off": ("Little's law is off by {percent:+.1f} %: the load was not steady, or requests were lost"),
    "throughput_changed": (
        "throughput changed by {percent:+.0f} % from the first to the second half of the measuring window"
    ),
    "throughput_began_late": "no flow was completed in the first half of the measuring window",
    "warm_up_not_found": "the warm-up did not reach a steady state within {seconds_max:g} s",
    "still_spawning": "users were still starting when the measuring window began",
    # What was offered, and what was done.
    "pool_full": (
        "the system did not keep up with the offered rate: the pool of {pool:,} was full at times, {late:,} of"
        " {offered:,} arrivals started late and {dropped:,} were dropped"
    ),
    "rate_not_achieved": "achieved {achieved:.2f} of {due:.2f} arrivals per second",
    "arrivals_dropped": "{dropped:,} of {offered:,} arrivals were dropped",
    "nothing_completed": "no flow was completed in the measuring window",
    "all_failed": (
        "every request failed in the same way, so the load was ended after {seconds:.0f} s: {errors:,} of {total:,}"
        " requests failed"
    ),
    "requests_not_done": "{count:,} of {total:,} requests failed or had an unknown outcome",
    "requests_failed": "{errors:,} of {total:,} requests failed",
    "outcomes_resolved": (
        "{unknown:,} of {total:,} requests got no answer about their outcome; {seconds:.1f} s after the load the node"
        " said: {ok:,} succeeded, {failed:,} failed, {not_started:,} never started"
    ),
    "outcomes_unknown": "the outcome of {left:,} of these {unknown:,} requests stays unknown",
    # Whether the counts agree.
    "count_differs": "the counts differ: the {observer} counted {count:,} {flow}, the generator {generator:,}",
    "vault_differs": "the counts differ: the vault of {node} changed by {counted:+,} {state}, expected {expected:+,}",
    "restarted": "{name} was restarted during the load, so its count of flows is not known",
    "transactions_missing": (
        "{missing:,} of {told:,} transactions that the generator was told of left no {state} in the vault of {node}:"
        " {example}"
    ),
    "vault_unread": "the {state} in the vault of {node} could not be read: {why}",
    "not_at_rest": "flows were still outstanding {seconds:.0f} s after the load ended",
    "counts_not_known": "not all counts are known: {why}",
    # What a load by hand was.
    "users_changed": (
        "the number of users was changed while the load ran; measured is the time after the last change, with"
        " {measured:,} users"
    ),
    "restarted_since": (
        "{names} started again after this load, so the environment is that of the report, and may not be that of the"
        " load"
    ),
    "metrics_gone": "Prometheus has no metrics of this load any more",
    # What the ledgers prove.
    "ledger_violated": "violations in the ledgers: {kinds}",
    "audit_cannot_tell": "the audit of the ledgers cannot tell: {why}",
    # Whether the traces are complete.
    "stages_differ": "the sum of the stages of {part} differs by {percent:+.0f} % from the time of its requests",
    "traces_missing": "{missing:,} of {requests:,} traced {part} flows have no spans",
    "clocks_apart": "left out: {figures}, because they need one clock, and the lab runs on several hosts",
    "spans_dropped": "{node} dropped {count:,} spans",
    "spans_unread": "the spans of {nodes} could not be read",
    # What the sweep asks for.
    "latency_above": "{name} is {seen_ms:,.0f} ms, above the limit of {limit_ms:,.0f} ms",
    "latency_endless": (
        "{name} is above the limit of {limit_ms:,.0f} ms: {unanswered:,} of {count:,} requests were not answered"
    ),
    "latency_unknown": "{name} is not known, so the limit of {limit_ms:,.0f} ms was not met",
    "throughput_below": "throughput is {seen:.2f} flows/s, below the limit of {limit:g}",
}
"""The sentence of every code, without its full stop. Names in braces are values of the reason, with their format."""


class Reason(BaseModel):
    """One reason. When several reasons are shown together, numeric values become a range; texts must be equal."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    code: str
    values: dict[str, Value] = {}

    @model_validator(mode="after")
    def _fills_its_sentence(self) -> "Reason":
        try:
            sentence([self])
        except (KeyError, ValueError):
            # From a damaged file: without this check it would fail where it is shown.
            raise ValueError(f"the values of {self.code!r} do not fit its sentence") from None
        return self

    def __str__(self) -> str:
        return sentence([self])


def reason(code: str, **values: Value) -> Reason:
    """A reason with a code of ``SENTENCES``. Raises KeyError for another code."""
    if code not in SENTENCES:
        raise KeyError(code)
    return Reason(code=code, values=values)


def sentence(reasons: Sequence[Reason]) -> str:
    """The sentence of reasons of one ``kind``. Where their numbers differ, it has the range from least to greatest."""
    words = []
    for text, field, form, _ in string.Formatter().parse(SENTENCES.get(reasons[0].code, reasons[0].code)):
        words.append(text)
        if field is not None:
            seen = sorted({one.values[field] for one in reasons}, key=lambda value: (isinstance(value, str), value))
            shown = list(dict.fromkeys(format(value, form or "") for value in seen))
            words.append(shown[0] if len(shown) == 1 else f"{shown[0]} to {shown[-1]}")
    return "".join(words)


def kind(one: Reason) -> tuple[object, ...]:
    """The key of reasons that share a sentence: the code, and the values that are texts."""
    return (one.code, *sorted((name, value) for name, value in one.values.items() if isinstance(value, str)))


def sentences(reasons: Iterable[Reason]) -> list[str]:
    """The sentences of reasons, each once, in their order."""
    return list(dict.fromkeys(str(one) for one in reasons))
