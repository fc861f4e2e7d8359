"""The heap that a running JVM still needs: all that is left after a full collection.

What a node has in use at some moment is mostly garbage, and what an ordinary collection leaves still has some. So the
JVM is asked to collect everything, and to add up the rest. It stands still meanwhile, for a second or less.
"""

import re

from corda_lab.errors import LabError
from corda_lab.host.processes import last_words
from corda_lab.profile.jvm import ASPROF, Jvm, inside

_TOTAL = re.compile(r"^Total\s+\d+\s+(\d+)\s*$", re.MULTILINE)


def live_heap_bytes(jvm: Jvm) -> int:
    """Collect all garbage of a JVM, and return the bytes of what is left. Raises LabError if the JVM does not say."""
    done = inside(jvm.container, ASPROF, "jcmd", str(jvm.pid), "GC.class_histogram")
    total = _TOTAL.search(done.stdout)
    if done.returncode != 0 or total is None:
        words = last_words(done.stderr or done.stdout) or "nothing"
        raise LabError(f"{jvm.node}: its JVM does not count its objects, and says: {words}", exit_code=1)
    return int(total[1])
