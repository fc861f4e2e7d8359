"""The chapter of ``lab bench overload`` in ``docs/performance.md``."""

from corda_lab.bench.joined import Joined
from corda_lab.bench.markdown import FAILED, bullets, circumstances, paragraphs, table
from corda_lab.bench.overload import show
from corda_lab.bench.overload.measurement import OverloadBench
from corda_lab.text.words import plural

OVERLOAD_INTRODUCTION = """\
[validation.md](validation.md#overload) describes the method. Open load offers a multiple of the peak. Goodput counts
the flows that complete within the time limit of their callers. Each is compared with the peak of its own round.
"""


def overload_section(found: Joined[OverloadBench]) -> str:
    """Return the section of joined files."""
    bench = found.bench
    load = (
        f"{bench.flow} on {bench.node}; {plural(bench.rounds, 'round')}, each {bench.duration_seconds:g} s after "
        f"{bench.warm_up_seconds:g} s; callers wait {bench.time_limit_seconds:g} s"
    )
    parts = [
        f"### {bench.workload} ({found.ids})",
        circumstances(found.files, load),
        table(show.LEVEL_TITLES, show.level_rows(bench)),
        show.knee_line(bench),
        table(show.TITLES, show.overload_rows(bench)),
        *bullets("", show.verdict_lines(bench)),
    ]
    parts += bullets(FAILED, show.problem_lines(bench))
    return paragraphs(parts)
