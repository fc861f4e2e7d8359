"""The chapter of ``lab bench bridge`` in ``docs/performance.md``."""

from corda_lab.bench.bridge import show
from corda_lab.bench.bridge.measurement import BridgeBench
from corda_lab.bench.joined import Joined
from corda_lab.bench.markdown import FAILED, bullets, circumstances, paragraphs, table
from corda_lab.text.words import listed, plural

BRIDGE_INTRODUCTION = """\
[validation.md](validation.md#the-bridge) describes the method. Locust and the bridge are compared with a direct RPC
client that has the same number of connections and of flows in flight, paired by round.
"""


def bridge_section(found: Joined[BridgeBench]) -> str:
    """Return the section of joined files: their circumstances, the table, and what failed."""
    bench = found.bench
    rounds = f"{plural(bench.rounds, 'round')}, each {bench.duration_seconds:g} s after {bench.warm_up_seconds:g} s"
    parts = [
        f"### {bench.workload}, {listed(list(map(str, bench.users)))} in flight ({found.ids})",
        circumstances(found.files, f"{bench.flow} on {bench.node}; {rounds}"),
        table(show.TITLES, show.rows(bench)),
    ]
    parts += bullets(FAILED, show.problem_lines(bench))
    return paragraphs(parts)
