"""The section "Where the CPU time went" of a report: the profiles in the folder of the run, in words."""

from dataclasses import dataclass

from corda_lab.results import profiles
from corda_lab.results.manifest import ProfileEntry
from corda_lab.results.profiles import Profile
from corda_lab.results.stored import StoredRun
from corda_lab.text.words import listed


@dataclass(frozen=True)
class ComponentRow:
    """A component of a profile in a table, in words."""

    share: str
    name: str
    value: str
    meaning: str
    method: str


@dataclass(frozen=True)
class ProfileSection:
    """One profile in words. Paths are relative to the report."""

    node: str
    load: str
    """Which load it was, and which part of it; empty if the profile failed."""
    headline: str
    flows: str
    rows: tuple[ComponentRow, ...]
    """The ten largest components."""
    rest: str
    """How many further components there are; empty if there are none."""
    page: str | None
    """The flame graph; None if the profile failed."""
    words: str | None
    """The same as Markdown."""
    problem: str | None


def sections(run: StoredRun) -> list[ProfileSection]:
    """The profiles of a run. Raises LabError if a file of them is damaged."""
    return [_section(run, entry, profiles.read(run.folder, entry)) for entry in run.manifest.profiles]


def _section(run: StoredRun, entry: ProfileEntry, found: Profile | None) -> ProfileSection:
    page = entry.file
    return ProfileSection(
        node=entry.node,
        load=load_words(run, entry) if found else "",
        headline=f"{profiles.headline(found)}." if found else "",
        flows=f"{profiles.load_words(found.flows).capitalize()}." if found else "",
        rows=_rows(found) if found else (),
        rest=profiles.rest_words(found) if found else "",
        page=page,
        words=page.removesuffix(".html") + ".md" if page else None,
        problem=entry.problem,
    )


def _rows(found: Profile) -> tuple[ComponentRow, ...]:
    return tuple(
        ComponentRow(share, name, value, one.meaning, method)
        for (share, name, value, method), one in zip(profiles.rows(found), found.components, strict=False)
    )


def load_words(run: StoredRun, entry: ProfileEntry) -> str:
    """Which load was profiled, and how much of its measuring window."""
    part = f"Samples were taken for {entry.seconds:.0f} s, {entry.window_seconds:.0f} s of them in the measuring window"
    return f"{part}, which lasted {run.steps[0].window.seconds:.0f} s."


def facts(run: StoredRun) -> list[tuple[str, str]]:
    """That the load of a run was profiled, as a row of the table of facts; none if it was not."""
    sampled = [entry for entry in run.manifest.profiles if entry.file is not None]
    if not sampled:
        return []
    nodes = listed([f"{entry.node} for {entry.window_seconds:.0f} s" for entry in sampled])
    return [("Profiled", f"{nodes} of the measuring window; a profiler costs CPU time")]
