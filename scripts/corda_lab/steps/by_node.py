"""The values of each node, if several nodes start the flows of a load."""

from collections.abc import Sequence

import polars as pl

from corda_lab.steps.entry import NodeValues
from corda_lab.steps.rows import Window, outcome_values


def node_values(rows: pl.DataFrame, window: Window, nodes: Sequence[str]) -> tuple[NodeValues, ...]:
    """The values of the flows that each of ``nodes`` started, in their order; empty if there is only one node.

    ``rows`` are those of the generator. The throughputs add up to that of the step. In open load, arrivals that were
    dropped belong to no node.
    """
    if len(nodes) < 2:
        return ()
    values = ((node, outcome_values(rows.filter(pl.col("node") == node), window)) for node in nodes)
    return tuple(
        NodeValues(node=node, throughput_per_second=own.throughput_per_second, latency_ms=own.latency_ms)
        for node, own in values
    )
