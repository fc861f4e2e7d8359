"""Parts of ``docs/performance.md`` that every bench has."""

from collections.abc import Iterable, Sequence

from corda_lab.bench.file import BenchFile

FAILED = "Failed measurements, which the values leave out"
"""Title of the list of them."""


def circumstances(bench: BenchFile, load: str) -> str:
    """Return the load, the versions and the machine, one line each."""
    known, shape = bench.environment, bench.environment.shape
    host = known.host
    memory = "" if host.memory_bytes is None else f", {host.memory_bytes / 1e9:.0f} GB"
    preset = shape.get("NODE_PRESET", "unknown")
    lines = [
        f"- load: {load}",
        f"- lab: {bench.lab_version}, commit {known.git.words}; Corda {known.versions.corda}, preset {preset}",
        f"- machine: {host.cpu_model or 'unknown CPU'}, {host.cpu_count} cores{memory}",
    ]
    if before := bench.conditioning:
        how = "then steady" if before.steady else "not steady at its limit"
        lines.append(f"- the nodes were conditioned before: {before.flows:,} flows in {before.seconds:.0f} s, {how}")
    return "\n".join(lines)


def bullets(title: str, lines: Iterable[str]) -> list[str]:
    """Return a paragraph with a list, or nothing if there are no lines. The title is left out if it is empty."""
    found = "\n".join(f"- {line}" for line in lines)
    return [f"{title}:\n\n{found}" if title else found] if found else []


def joined(parts: Iterable[str]) -> str:
    """Return a section of these paragraphs."""
    return "\n\n".join(parts) + "\n"


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table."""
    lines = [titles, ["---"] * len(titles), *rows]
    return (
        "\n".join(f"| {' | '.join(cells)} |" for cells in lines).replace("| --- |", "|---|").replace(" --- |", "---|")
    )
