"""Parts of ``docs/performance.md`` that every bench has."""

from collections.abc import Sequence

from corda_lab.bench.file import BenchFile


def circumstances(bench: BenchFile, load: str) -> str:
    """Return the load, the versions and the machine, one line each."""
    known, shape = bench.environment, bench.environment.shape
    host = known.host
    memory = "" if host.memory_bytes is None else f", {host.memory_bytes / 1e9:.0f} GB"
    preset = shape.get("NODE_PRESET", "unknown")
    lines = (
        f"- load: {load}",
        f"- lab: {bench.lab_version}, commit {known.git.words}; Corda {known.versions.corda}, preset {preset}",
        f"- machine: {host.cpu_model or 'unknown CPU'}, {host.cpu_count} cores{memory}",
    )
    return "\n".join(lines)


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table."""
    lines = [titles, ["---"] * len(titles), *rows]
    return (
        "\n".join(f"| {' | '.join(cells)} |" for cells in lines).replace("| --- |", "|---|").replace(" --- |", "---|")
    )
