"""``docs/performance.md``, made from the stored files of ``lab bench peers``."""

from collections.abc import Sequence

from corda_lab.bench import compare, show
from corda_lab.bench.measurement import PeersBench
from corda_lab.text.words import listed, plural

INTRODUCTION = """\
# Performance: the lab beside other tools

`scripts/lab bench report` writes this document from the files of `scripts/lab bench peers`. Do not edit it.
[validation.md](validation.md#the-peers) says how each tool is set up, and what the values mean. Ratios are those of the
lab (Locust + bridge) to the other tool, paired by round, with 95 % intervals.
"""


def page(benches: Sequence[PeersBench]) -> str:
    """Return the document, with a section for every file, in the given order."""
    return "\n".join([INTRODUCTION, *(section(bench) for bench in benches)])


def section(bench: PeersBench) -> str:
    """Return the section of a file: its circumstances, values, ratios, failures and promises."""
    parts = [
        f"## {bench.workload}, {listed(list(map(str, bench.users)))} in flight ({bench.id})",
        circumstances(bench),
        table(show.VALUE_TITLES, show.value_rows(bench)),
        table(show.RATIO_TITLES, show.ratio_rows(bench)),
    ]
    failures = [f"- {line}" for line in show.problem_lines(bench)]
    if failures:
        parts.append("Failed measurements, which the values leave out:\n\n" + "\n".join(failures))
    checks = compare.checks(bench)
    if checks:
        parts.append(table(show.CHECK_TITLES, [show.check_row(check) for check in checks]))
    return "\n\n".join(parts) + "\n"


def circumstances(bench: PeersBench) -> str:
    """Return the load, the versions and the machine, one line each."""
    known, shape = bench.environment, bench.environment.shape
    host = known.host
    memory = "" if host.memory_bytes is None else f", {host.memory_bytes / 1e9:.0f} GB"
    load = f"{plural(bench.rounds, 'round')}, each {bench.duration_seconds:g} s after {bench.warm_up_seconds:g} s"
    preset = shape.get("NODE_PRESET", "unknown")
    lines = (
        f"- load: {bench.flow} on {bench.node}; {load}",
        f"- lab: {bench.lab_version}, commit {known.git.words}; Corda {known.versions.corda}, preset {preset}",
        f"- machine: {host.cpu_model or 'unknown CPU'}, {host.cpu_count} cores{memory}",
    )
    return "\n".join(lines)


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [titles, ["---"] * len(titles), *rows]
    return (
        "\n".join(f"| {' | '.join(cells)} |" for cells in lines).replace("| --- |", "|---|").replace(" --- |", "---|")
    )
