"""The chapter of ``lab bench peers`` in ``docs/performance.md``."""

from corda_lab.bench.joined import Joined
from corda_lab.bench.markdown import FAILED, bullets, circumstances, paragraphs, table
from corda_lab.bench.peers import compare, show
from corda_lab.bench.peers.measurement import PeersBench
from corda_lab.text.words import listed, plural

PEERS_INTRODUCTION = """\
[validation.md](validation.md#the-peers) says how each tool is set up, and what the values mean. Ratios are those of the
lab (Locust + bridge) to the other tool, paired by round.
"""


def peers_section(found: Joined[PeersBench]) -> str:
    """Return the section of joined files: their circumstances, values, ratios, failures and promises."""
    bench = found.bench
    rounds = f"{plural(bench.rounds, 'round')}, each {bench.duration_seconds:g} s after {bench.warm_up_seconds:g} s"
    load = f"{bench.flow} on {bench.node}; {rounds}"
    parts = [
        f"### {bench.workload}, {listed(list(map(str, bench.users)))} in flight ({found.ids})",
        circumstances(found.files, load),
        table(show.VALUE_TITLES, show.value_rows(bench)),
        table(show.RATIO_TITLES, show.ratio_rows(bench)),
    ]
    parts += bullets(FAILED, show.problem_lines(bench))
    checks = compare.checks(bench)
    if checks:
        parts.append(table(show.CHECK_TITLES, [show.check_row(check) for check in checks]))
    return paragraphs(parts)
