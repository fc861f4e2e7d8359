"""The chapter of ``lab bench kills`` in ``docs/performance.md``."""

from corda_lab.bench.joined import Joined
from corda_lab.bench.kills import show
from corda_lab.bench.kills.measurement import KillsBench
from corda_lab.bench.markdown import bullets, circumstances, paragraphs, table
from corda_lab.text.words import plural

KILLS_INTRODUCTION = """\
[validation.md](validation.md#kills-under-load) says what is checked after each kill. *Acknowledged* flows are those
that the generator was told have succeeded. *Without a row* are flows on the ledger that were in flight, or whose row
was not yet written, when their generator was killed.
"""


def kills_section(found: Joined[KillsBench]) -> str:
    """Return the section of joined files: their circumstances, the sums, and every trial."""
    bench = found.bench
    seconds = f"{bench.duration_seconds:g} s after {bench.warm_up_seconds:g} s"
    load = f"{bench.workload}, {plural(bench.users, 'user')}, {seconds} in each trial"
    parts = [
        f"### {bench.workload}, {plural(len(bench.trials), 'kill')} ({found.ids})",
        circumstances(found.files, load),
        table(show.TITLES, show.rows(bench)),
        table(show.TRIAL_TITLES, show.trial_rows(bench)),
    ]
    parts += bullets("Trials that failed", show.failures(bench))
    return paragraphs(parts)
