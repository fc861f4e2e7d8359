"""The chapter of ``docs/reliability.md`` on stored files of ``lab chaos``.

Campaigns of days are made of small pieces: each call of ``lab chaos`` adds a file, and the chapter adds them up.
"""

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence

from corda_lab.bench.markdown import bullets, paragraphs, table
from corda_lab.chaos import show
from corda_lab.chaos.measurement import DOUBLED, LOST, VALUE, ChaosFile, ChaosTrial
from corda_lab.chaos.verdict import AuditEntry
from corda_lab.knobs.labels import option_label
from corda_lab.steps.faults import KINDS, FaultEntry, FaultKind
from corda_lab.text.words import plural, wrapped

INTRODUCTION = """\
*Acknowledged* flows are those whose caller was told that they succeeded. *Lost*, *doubled* and *value* are violations
that the audit of all ledgers found: an acknowledged transaction that a participant lacks; one that happened twice, or a
state that was consumed twice; value that was made or destroyed. *Other* are all other violations. *Stranded* are
transactions that only the notary has, because Corda ended their flow with an error before it recorded them: the caller
was told that the flow failed. *Unexplained* are flows of which the node could not tell what became of them.
[chaos.md](chaos.md) describes the faults, how they are made, and what is checked after each load.

From here on, the tables have all stored trials, also those that do not count.
"""

OTHER = "other"


def chapter(files: Sequence[ChaosFile]) -> str:
    """Return the chapter: the sums, then a section for every version of Corda and database."""
    groups: dict[tuple[str, str], list[ChaosFile]] = {}
    for file in files:
        groups.setdefault((file.environment.versions.corda, file.database), []).append(file)
    rows = [
        (corda, option_label("database", database), *show.sums(trials_of(own)))
        for (corda, database), own in groups.items()
    ]
    sums = table(("Corda", "database", *show.TITLES), rows)
    sections = [section(corda, database, own) for (corda, database), own in groups.items()]
    return "\n".join([INTRODUCTION, f"{sums}\n", *sections])


def trials_of(files: Sequence[ChaosFile]) -> list[ChaosTrial]:
    """The trials of some files, in their order."""
    return [trial for file in files for trial in file.trials]


def section(corda: str, database: str, files: Sequence[ChaosFile]) -> str:
    """Return the section of one version of Corda on one database."""
    trials = trials_of(files)
    faults = [fault for trial in trials for fault in trial.made]
    parts = [
        f"### Corda {corda} on {option_label('database', database)}",
        *bullets("", circumstances(files)),
        "Faults by kind and target:",
        fault_table(faults),
        wrapped(
            "Time until throughput was back, and flows lost by it, by kind. A recovery that was not seen, because the "
            "load or the pause before the next fault was too short, counts as longer than all others:"
        ),
        effect_table(faults),
        wrapped(outcome_words(trials)),
        *evidence(files),
        *stranded(trials),
    ]
    return paragraphs(part for part in parts if part)


def circumstances(files: Sequence[ChaosFile]) -> Iterator[str]:
    """The lines on load, versions and machine; each says everything that differs between the files."""
    loads = dict.fromkeys(f"{file.workload}, {plural(file.users, 'user')}" for file in files)
    commits = dict.fromkeys(f"{file.lab_version}, commit {file.environment.git.words}" for file in files)
    hosts = dict.fromkeys(_host(file) for file in files)
    yield f"load: {'; '.join(loads)}"
    yield f"lab: {'; '.join(commits)}"
    yield f"machine: {'; '.join(hosts)}"
    yield f"files: {', '.join(f'{file.id} ({_seeds(file)})' for file in files)}"
    together = Counter(_together(file) for file in files)
    told = (f"{together[verdict]} {verdict}" for verdict in (PASSED, FAILED, NOT_MADE))
    yield f"audits of all trials of a file together: {', '.join(told)}"


PASSED, FAILED, NOT_MADE = "passed", "failed", "not made"


def _together(file: ChaosFile) -> str:
    if file.audit is None:
        return NOT_MADE
    return FAILED if file.audit.problems else PASSED


def _host(file: ChaosFile) -> str:
    host, preset = file.environment.host, file.environment.shape.get("NODE_PRESET", "unknown")
    return f"{host.cpu_model or 'unknown CPU'}, {host.cpu_count} cores, preset {preset}"


def _seeds(file: ChaosFile) -> str:
    seeds = [trial.seed for trial in file.trials]
    if not seeds:
        return "no trial"
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {min(seeds)} to {max(seeds)}"


def fault_table(faults: Sequence[FaultEntry]) -> str:
    """Return the number of faults by kind and target. Partitions between two are by their two ends."""
    kinds = [kind for kind in KINDS if any(fault.kind == kind for fault in faults)]
    targets = sorted({fault.target for fault in faults})
    rows = [
        (target, *_counts(faults, kinds, target), str(sum(f.target == target for f in faults))) for target in targets
    ]
    totals = ("all", *(str(sum(fault.kind == kind for fault in faults)) for kind in kinds), str(len(faults)))
    return table(("target", *kinds, "all"), [*rows, totals])


def _counts(faults: Sequence[FaultEntry], kinds: Sequence[FaultKind], target: str) -> list[str]:
    counted = [sum(fault.kind == kind and fault.target == target for fault in faults) for kind in kinds]
    return [str(count) if count else "–" for count in counted]


def effect_table(faults: Sequence[FaultEntry]) -> str:
    """Return what the faults of each kind cost, as far as the load was long enough to tell.

    A recovery that was not seen took longer than the load, or than the pause before the next fault, allowed to see. It
    counts as longer than all others.
    """
    rows = []
    for kind in KINDS:
        own = [fault for fault in faults if fault.kind == kind and fault.before_per_second is not None]
        times = [math.inf if fault.recovery_seconds is None else fault.recovery_seconds for fault in own]
        lost = [fault.lost_flows for fault in own if fault.lost_flows is not None]
        if own:
            seen = [time for time in times if time < math.inf]
            median, slowest = _seconds(statistics.median_high(times)), _seconds(max(seen, default=math.inf))
            rows.append(
                (kind, str(len(own)), median, slowest, str(len(own) - len(seen)), f"{statistics.median(lost):.0f}")
            )
    return table(("kind", "faults", "median", "longest seen", "not seen to end", "flows lost, median"), rows)


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value < math.inf else "not seen"


def outcome_words(trials: Sequence[ChaosTrial]) -> str:
    """Return what became of all flows, in a paragraph."""
    outcomes = {name: sum(trial.outcomes.get(name, 0) for trial in trials) for name in ("ok", "failed", "unknown")}
    resolved = {name: sum(trial.resolved.get(name, 0) for trial in trials) for name in ("ok", "failed", "not_started")}
    without = sum(trial.unrecorded for trial in trials)
    restarted = sum(bool(trial.restarted) for trial in trials)
    told = (
        f"{outcomes['ok']:,} flows were acknowledged, {outcomes['failed']:,} failed, and of {outcomes['unknown']:,} "
        f"the caller did not learn the outcome. The nodes told later that {resolved['ok']:,} of these had succeeded, "
        f"{resolved['failed']:,} had failed and {resolved['not_started']:,} had never begun."
    )
    words = [told]
    if without:
        words.append(f"{plural(without, 'flow')} on the ledger had no row, because the generator was killed.")
    if restarted:
        words.append(f"After {plural(restarted, 'trial')}, flows were in flight until their nodes were started again.")
    if not all(trial.keeps_client_ids for trial in trials):
        words.append(
            "These nodes keep no client ids. There, every acknowledged flow must be on the ledger, and at most one "
            "transaction more for each that was not acknowledged."
        )
    return " ".join(words)


def evidence(files: Sequence[ChaosFile]) -> list[str]:
    """Return the trials that failed, each with its problems, the ids of its violations, and what repeats it.

    Then the files whose trials together failed.
    """
    failed = [trial for trial in trials_of(files) if trial.problems]
    together = [(file, file.audit) for file in files if file.audit is not None and file.audit.problems]
    if not failed and not together:
        return ["All trials passed."]
    parts = []
    if failed:
        lines = [f"{plural(len(failed), 'trial')} failed:", ""]
        for trial in failed:
            what = f"seed {trial.seed}, run {trial.run or 'that did not begin'}: {_faults(trial)}"
            lines += [wrapped(what, "- ", "  "), *_wrong(trial.problems, trial.audit)]
        parts.append("\n".join(lines))
    if together:
        lines = ["Trials that failed together:", ""]
        for file, audit in together:
            lines += [wrapped(f"{file.id}, {_seeds(file)}", "- ", "  "), *_wrong(audit.problems, audit)]
        parts.append("\n".join(lines))
    return parts


def stranded(trials: Sequence[ChaosTrial]) -> list[str]:
    """Return what Corda itself has stranded, each with what the caller was told and what the nodes logged."""
    parts = []
    for trial in trials:
        older = (
            "The trial failed for it, because it is older than the rule that it does not. " if trial.problems else ""
        )
        for one in trial.stranded:
            told = (
                f"Corda stranded transaction {one.transaction} (seed {trial.seed}, run {trial.run}). Its flow ran on "
                f"{one.node}, with client id {one.client_id}. Its caller was told: {one.told}. "
                f"{older}The logs of the nodes:"
            )
            parts += [wrapped(told), "\n".join(wrapped(line, "- ", "  ") for line in one.log)]
    return parts


def _wrong(problems: Sequence[str], audit: AuditEntry | None) -> Iterator[str]:
    """The problems of a trial or of a file, and the violations with their ids, as items of a list."""
    for problem in problems:
        yield wrapped(problem, "  - ", "    ")
    for one in audit.violations if audit else ():
        ids = f": {', '.join(one.ids)}" if one.ids else ""
        where = f" on {one.node}" if one.node else ""
        yield wrapped(f"{_class(one.kind)}, {one.kind}{where}{ids}", "  - ", "    ")


def _faults(trial: ChaosTrial) -> str:
    return "; ".join(fault.fault.words() for fault in trial.made) or "no fault"


def _class(kind: str) -> str:
    """The column of the sums in which a violation counts."""
    for name, kinds in (("lost", LOST), ("doubled", DOUBLED), ("value", VALUE)):
        if kind in kinds:
            return name
    return OTHER
