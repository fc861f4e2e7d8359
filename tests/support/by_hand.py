"""A simulated load by hand, with the files that the generator keeps of it, for tests."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from corda_lab.steps.counts import BRIDGE
from lab_workload.by_hand import (
    AFTER_SUFFIX,
    LOAD_SUFFIX,
    Counters,
    LoadByHand,
    NodeCounters,
    UsersChange,
    VaultCounter,
)
from lab_workload.load import Load
from lab_workload.plan import Plan
from lab_workload.run_end import RunEnd
from lab_workload.subject import LoadPart, Subject
from support import simulation

IDENTITY = "web-20231114T221320Z"
"""The id of a load that begins at ``simulation.ORIGIN``."""
GENERATOR_STARTED_AT = simulation.ORIGIN - 600
IOU = "org.cordalab.flows.Iou"
STARTED_AT = {BRIDGE: simulation.ORIGIN - 500.0, **dict.fromkeys(simulation.NODES, simulation.ORIGIN - 550.0)}
"""When each process started."""
WORKLOAD = """\
description: Issue an IOU.
node: PartyA
counterparty: PartyB
flow: org.cordalab.flows.Iou
args:
  iouValue: "{{ random_int(1, 99) }}"
  otherParty: "{{ counterparty }}"
state: org.cordalab.states.IouState
"""
CLOSED = Load(workload="iou", users=8, warm_up_seconds=0)


def counters(read_at: float, flows: int, **changes: Any) -> Counters:
    """The counters of a lab that has completed so many flows, all of them IOUs, with other fields changed."""
    found = Counters(
        read_at=read_at,
        at_rest=True,
        rest_seconds=0.5,
        bridge_started_at=STARTED_AT[BRIDGE],
        bridge_completed={"PartyA": {IOU: flows}},
        nodes={
            "PartyA": NodeCounters(STARTED_AT["PartyA"], {IOU: flows}),
            "PartyB": NodeCounters(STARTED_AT["PartyB"], {f"{IOU}Responder": flows}),
        },
        vaults=[VaultCounter(simulation.IOU_STATE, node, flows) for node in ("PartyA", "PartyB")],
    )
    return replace(found, **changes)


def noted(
    users: Sequence[UsersChange], load: Load = CLOSED, *, before: Counters | None = None, identity: str = IDENTITY
) -> LoadByHand:
    """What the generator notes when a load begins."""
    part = LoadPart(
        name="Iou",
        flow=IOU,
        flow_short="Iou",
        counterparty="PartyB",
        weight=1,
        unit="flow",
        states_per_flow=None,
        changes={simulation.IOU_STATE: {"PartyA": 1, "PartyB": 1}},
    )
    return LoadByHand(
        plan=Plan(
            identity=identity,
            load=load,
            workload_text=WORKLOAD,
            starters=(),
            subject=Subject("PartyA", (part,)),
            seconds=None,
        ),
        began_at=simulation.ORIGIN,
        generator_started_at=GENERATOR_STARTED_AT,
        form={"user_count": str(users[0].users), "spawn_rate": "20", "workload": "iou", "node": ""},
        users=list(users),
        setup=[],
        before=before or counters(simulation.ORIGIN - 1, 1000),
    )


def steady(users: int) -> UsersChange:
    """A number of users from the begin of the simulated load on, which starts one every 50 ms."""
    return UsersChange(users, simulation.ORIGIN, simulation.ORIGIN + 0.05 * users)


def write(
    directory: Path, load: LoadByHand, rows: list[dict[str, Any]], end: RunEnd | None, after: Counters | None
) -> None:
    """Write the files of a load as the generator does."""
    simulation.write_rows(directory / f"{load.plan.identity}.ndjson", rows)
    contents = {LOAD_SUFFIX: load, ".end.json": end, AFTER_SUFFIX: after}
    for suffix, content in contents.items():
        if content is not None:
            text = json.dumps(content.as_dict(), indent=2) + "\n"
            (directory / f"{load.plan.identity}{suffix}").write_text(text, encoding="utf-8")
