"""The chapter of ``lab bench repeats`` in ``docs/performance.md``."""

from corda_lab.bench.joined import Joined
from corda_lab.bench.markdown import bullets, circumstances, paragraphs, table
from corda_lab.bench.repeats import show
from corda_lab.bench.repeats.measurement import RepeatsBench
from corda_lab.text.words import plural

REPEATS_INTRODUCTION = """\
[validation.md](validation.md#repeats-of-one-load) describes the method. All repeats are on one start of the lab, so
they do not contain how much starts differ. The needed repeats are those of each of two points, to show a difference
with a probability of 80 % at 95 % confidence; "at most" is for the upper end of the interval of the scatter.
"""


def repeats_section(found: Joined[RepeatsBench]) -> str:
    """Return the section of joined files: their circumstances, scatter, needed repeats, and every repeat."""
    bench = found.bench
    seconds = f"{bench.duration_seconds:g} s after {bench.warm_up_seconds:g} s"
    rate = f", {bench.load.rate_per_second:g} per second" if bench.load.rate_per_second else ""
    load = f"{bench.flow} on {bench.node}, {bench.load.model}, {plural(bench.load.users, 'user')}{rate}, {seconds}"
    parts = [
        f"### {bench.workload}, {plural(bench.repeats, 'repeat')} ({found.ids})",
        circumstances(found.files, load),
        table(show.SCATTER_TITLES, show.scatter_rows(bench)),
        table(("repeats to see a difference of", *show.NEEDED_TITLES[1:]), show.needed_rows(bench)),
        table(show.REPEAT_TITLES, show.repeat_rows(bench)),
    ]
    parts += bullets("", show.conclusions(bench))
    return paragraphs(parts)
