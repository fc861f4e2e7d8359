"""Every bench of the lab whose files ``docs/performance.md`` is made from. A new one has its line here."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from corda_lab.bench.bridge.measurement import BridgeBench
from corda_lab.bench.bridge.section import BRIDGE_INTRODUCTION, bridge_section
from corda_lab.bench.file import BenchFile
from corda_lab.bench.joined import Joined
from corda_lab.bench.kills.measurement import KillsBench
from corda_lab.bench.kills.section import KILLS_INTRODUCTION, kills_section
from corda_lab.bench.overhead.measurement import OverheadBench
from corda_lab.bench.overhead.section import OVERHEAD_INTRODUCTION, overhead_section
from corda_lab.bench.overload.measurement import OverloadBench
from corda_lab.bench.overload.section import OVERLOAD_INTRODUCTION, overload_section
from corda_lab.bench.peers.measurement import PeersBench
from corda_lab.bench.peers.section import PEERS_INTRODUCTION, peers_section
from corda_lab.bench.repeats.measurement import RepeatsBench
from corda_lab.bench.repeats.section import REPEATS_INTRODUCTION, repeats_section

B = TypeVar("B", bound=BenchFile)


@dataclass(frozen=True)
class Kind(Generic[B]):
    """A bench: how its files end, their model, and its chapter of the document."""

    name: str
    """The files are ``<utc>-<name>.json``, written by ``lab bench <name>``."""
    model: type[B]
    title: str
    introduction: str
    """Markdown: what the values mean, and where its method is described."""
    section: Callable[[Joined[B]], str]
    """The Markdown of files that were joined, from a heading of the third level on."""


KINDS: tuple[Kind[Any], ...] = (
    Kind("peers", PeersBench, "The lab beside other tools", PEERS_INTRODUCTION, peers_section),
    Kind("bridge", BridgeBench, "The bridge", BRIDGE_INTRODUCTION, bridge_section),
    Kind("overhead", OverheadBench, "Recording, monitoring and stage timing", OVERHEAD_INTRODUCTION, overhead_section),
    Kind("overload", OverloadBench, "Overload", OVERLOAD_INTRODUCTION, overload_section),
    Kind("repeats", RepeatsBench, "Repeats of one load", REPEATS_INTRODUCTION, repeats_section),
    Kind("kills", KillsBench, "Kills under load", KILLS_INTRODUCTION, kills_section),
)
"""The chapters of the document, in its order."""
