"""Parts of ``docs/performance.md`` that every bench has."""

from collections.abc import Iterable, Sequence

from corda_lab.bench.file import BenchFile
from corda_lab.text.words import listed, wrapped

FAILED = "Failed measurements, which the values leave out"
"""Title of the list of them."""


def circumstances(files: Sequence[BenchFile], load: str) -> str:
    """Return the load, the versions and the machine of files that were joined, one line each."""
    bench = files[0]
    known, shape = bench.environment, bench.environment.shape
    commits = listed(list(dict.fromkeys(file.environment.git.words for file in files)))
    host = known.host
    memory = "" if host.memory_bytes is None else f", {host.memory_bytes / 1e9:.0f} GB"
    preset = shape.get("NODE_PRESET", "unknown")
    lines = [
        f"- load: {load}",
        f"- lab: {bench.lab_version}, commit {commits}; Corda {known.versions.corda}, preset {preset}",
        f"- machine: {host.cpu_model or 'unknown CPU'}, {host.cpu_count} cores{memory}",
    ]
    loads = [file.conditioning for file in files if file.conditioning]
    lines += [
        f"- the nodes were conditioned before: {one.flows:,} flows in {one.seconds:.0f} s, "
        + ("then steady" if one.steady else "not steady at its limit")
        for one in loads
    ]
    return "\n".join(lines)


def bullets(title: str, lines: Iterable[str]) -> list[str]:
    """Return a paragraph with a list, or nothing if there are no lines. The title is left out if it is empty."""
    found = "\n".join(wrapped(line, "- ", "  ") for line in lines)
    return [f"{title}:\n\n{found}" if title else found] if found else []


def paragraphs(parts: Iterable[str]) -> str:
    """Return a section of these paragraphs."""
    return "\n\n".join(parts) + "\n"


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table."""
    lines = [titles, ["---"] * len(titles), *rows]
    return (
        "\n".join(f"| {' | '.join(cells)} |" for cells in lines).replace("| --- |", "|---|").replace(" --- |", "---|")
    )
