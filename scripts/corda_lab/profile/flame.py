"""Names the threads and the unit in the flame graph that async-profiler writes."""

import re
from collections.abc import Iterator, Mapping

from corda_lab.profile.stacks import THREAD

_POOL = re.compile(r"(?<=const cpool = \[\n)(?P<names>.*?)(?=\n\];)", re.DOTALL)
_SAMPLE = " samples'"
_ONE_SAMPLE = "'1 sample'"


def with_thread_names(page: str, names: Mapping[int, str]) -> str:
    """Return the page with the name of every thread that has one in ``names``.

    The page lists each name of a frame as the number of leading characters that it shares with the one before it,
    written as a character, and the rest. A page of another form is returned as it is.
    """
    pool = _POOL.search(page)
    if pool is None:
        return page
    first, *rest = pool["names"].split("\n")
    lines = [first, *(f"' {_named(name, names)}'," for name in _unpacked(first, rest))]
    return page[: pool.start()] + "\n".join(lines) + page[pool.end() :]


def with_unit(page: str, unit: str) -> str:
    """Return the page with the name of a unit where it says samples."""
    return page.replace(_ONE_SAMPLE, f"'1 {unit}'").replace(_SAMPLE, f" {unit}'")


def _unpacked(first: str, rest: list[str]) -> Iterator[str]:
    """Yield all names but the first in full. Quotes and backslashes stay escaped, as they were."""
    last = _plain(first)
    for line in rest:
        packed = _plain(line)
        last = last[: ord(packed[0]) - ord(" ")] + packed[1:]
        yield last


def _plain(line: str) -> str:
    """The text of a line such as ``' java/lang/Thread.run',``, without the escapes of JavaScript."""
    return re.sub(r"\\(.)", r"\1", line.strip().removesuffix(",")[1:-1])


def _named(frame: str, names: Mapping[int, str]) -> str:
    match = THREAD.fullmatch(frame)
    if match is not None and (name := names.get(int(match["tid"]))):
        frame = f"[{name} tid={match['tid']}]"
    return frame.replace("\\", "\\\\").replace("'", "\\'")
