"""The chapter of ``lab bench overhead`` in ``docs/performance.md``."""

from corda_lab.bench.joined import Joined
from corda_lab.bench.markdown import bullets, circumstances, paragraphs, table
from corda_lab.bench.overhead import effect, show
from corda_lab.bench.overhead.measurement import OverheadBench
from corda_lab.bench.peers.show import CHECK_TITLES, check_row
from corda_lab.text.words import plural

OVERHEAD_INTRODUCTION = """\
What the lab's own recording, monitoring and stage timing cost in throughput. Each is switched on and off without a
restart of the nodes, in blocks of on-off-off-on. A pair is two neighbours in a block. The smallest loss that could be
seen is half the width of the interval. [validation.md](validation.md#recording-monitoring-and-stage-timing) describes
the switches.
"""


def overhead_section(found: Joined[OverheadBench]) -> str:
    """Return the section of joined files: their circumstances, ratios, failures, warnings and the promise."""
    bench = found.bench
    blocks = f"{plural(bench.blocks, 'block')} of four, each {bench.duration_seconds:g} s"
    load = f"{bench.workload} on {bench.node}, {bench.users} in flight; {blocks} after {bench.warm_up_seconds:g} s"
    parts = [
        f"### {bench.workload}, {bench.users} in flight ({found.ids})",
        circumstances(found.files, load),
        table(show.TITLES, show.rows(bench)),
    ]
    parts += bullets("Failed measurements, whose pairs are left out", show.problem_lines(bench))
    parts += bullets("Warnings", show.warning_lines(bench))
    if checks := effect.checks(bench):
        parts.append(table(CHECK_TITLES, [check_row(check) for check in checks]))
    return paragraphs(parts)
