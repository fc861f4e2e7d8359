"""How the repeats of a figure were measured, in words."""

from corda_lab.figures import summary
from corda_lab.figures.forms import QUICK, in_form
from corda_lab.figures.judged import Judged
from corda_lab.figures.starts import shared_words
from corda_lab.text.words import plural


def measured_words(one: Judged) -> str:
    """Return when, where and how its repeats were measured, what they lack, and which ones do not count."""
    return " ".join([*_repeats(one), *(f"Not counted: {line}." for line in summary.outdated_words(one.outdated))])


def _repeats(one: Judged) -> list[str]:
    if not one.repeats:
        return ["Not measured yet."]
    sweep, form = one.figure.sweep, one.repeats[0].form
    whole = "short form" if form == QUICK else "whole sweep"
    spoilt = [f"{line[:1].upper()}{line[1:]}." for line in summary.spoilt_words(one.repeats)]
    said = (
        f"{plural(len(one.repeats), 'repeat')} of the {whole} of {sweep.name}, {summary.days(one.repeats)}, on "
        f"{summary.machines_with_speed(one.repeats)}, by the lab {summary.versions(one.repeats)}."
    )
    return [text for text in (said, *spoilt, shared_words(sweep, form), *_conditioning(one)) if text]


def _conditioning(one: Judged) -> list[str]:
    """Return what is known of the conditioning of a figure's repeats; nothing if its sweep has none."""
    if in_form(one.figure.sweep, one.repeats[0].form).fields.condition == "none":
        return []
    return summary.conditioning_words(one.repeats)
