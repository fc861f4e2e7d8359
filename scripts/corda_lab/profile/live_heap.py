"""The heap that a running JVM still needs: all that is left after a full collection.

What a node has in use at some moment is mostly garbage, and what an ordinary collection leaves still has some. So the
JVM is asked to collect everything, and to add up the rest. It stands still meanwhile, for a second or less.
"""

from corda_lab.profile.histogram import count
from corda_lab.profile.jvm import Jvm


def live_heap_bytes(jvm: Jvm) -> int:
    """Collect all garbage of a JVM, and return the bytes of what is left. Raises LabError if the JVM does not say."""
    return count(jvm).bytes
