"""Whether the vaults have each success of a load once, and nothing else: counted apart from the audit, by the nodes."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from corda_lab.audit.repeats import FLOWS_MIN
from corda_lab.bench.kills.proof import Place, listed_ids
from corda_lab.runs.running import RunningLab
from corda_lab.steps.counts import told_transactions
from corda_lab.steps.plan import Subject
from corda_lab.steps.resolutions import has_succeeded, with_columns

Vaults = Mapping[Place, set[str]]
"""The transactions that recorded states of a class in the vault of a node since a load began."""
MISSING = "transactions missing in the vault of "
"""What a problem says first if a vault lacks transactions of flows that succeeded."""


@dataclass(frozen=True)
class Found:
    """What contradicts that each success is in the vaults once, and what could not be compared."""

    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def exact_places(subject: Subject) -> tuple[Place, ...]:
    """The places where a success leaves states, and so records a transaction, whichever flow it is of those there."""
    changes: dict[Place, list[int]] = {}
    for _, part in subject.starts:
        for state, nodes in part.changes.items():
            for node, change in nodes.items():
                changes.setdefault((state, node), []).append(change)
    return tuple(place for place, all_of_it in changes.items() if min(all_of_it) > 0)


def began_at(rows: pl.DataFrame, default: float) -> float:
    """When the first request started, in unix seconds: what a set-up has recorded is older."""
    first = rows["started_at"].min() if rows.height else None
    return first if isinstance(first, float) else default


def read(lab: RunningLab, subject: Subject, since: float) -> Vaults:
    """Ask the nodes, which have to be at rest. Raises LabError."""
    return {(state, node): lab.bridge.vault_transactions(node, state, since) for state, node in exact_places(subject)}


def on_ledger(vaults: Vaults) -> int | None:
    """The transactions of the place with the most of them; None without a place."""
    return max(map(len, vaults.values()), default=None)


def compare(rows: pl.DataFrame, vaults: Vaults, subject: Subject) -> Found:
    """Compare the successes of a load with the vaults. ``rows`` also has those of which a generator wrote none."""
    rows = with_columns(rows)
    ids = pl.coalesce("tx_id", "resolved_tx_id").str.to_uppercase()
    successes = rows.filter(has_succeeded()).with_columns(ids.alias("transaction"))
    nameless = successes["transaction"].null_count()
    # Without a row, nobody knows which of several flows it was.
    without_row = set(successes.filter(pl.col("part").is_null())["transaction"].drop_nulls())
    told = told_transactions(rows, subject)
    problems: list[str] = []
    warnings: list[str] = []
    for place, found in vaults.items():
        own = told.get(place, set()) | (without_row if len(subject.starts) == 1 else set())
        others = found - own - without_row
        problems += listed_ids(f"{MISSING}{place[1]}", own - found)
        if not is_several(len(others) - nameless, len(own) + nameless):
            # A flow that told no id has one of the others.
            problems += listed_ids(_extra(place), others) if len(others) > nameless else []
        else:
            warnings.append(f"each flow records several transactions in the vault of {place[1]}: they were not counted")
    return Found(tuple(problems), tuple(warnings))


def is_several(surplus: int, successes: int) -> bool:
    """Whether flows of a workload record several transactions at one place: no fault makes all of them do it twice.

    It can make all of a few flows do it, so what is surplus there is a problem. The audit has the same limit: it cannot
    tell such flows by their number of transactions, and would not find it either.
    """
    return surplus >= successes >= FLOWS_MIN


def _extra(place: Place) -> str:
    return f"transactions of no flow that is known to have succeeded in the vault of {place[1]}"
