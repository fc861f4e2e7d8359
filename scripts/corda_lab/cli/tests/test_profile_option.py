"""``lab run --profile``, which may stand without names."""

import pytest

from corda_lab.cli.run import with_names

BARE = "--profile=initiators"


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (["iou", "--profile"], ["iou", BARE]),
        (["iou", "--profile", "--json"], ["iou", BARE, "--json"]),
        (["--profile", "iou"], [BARE, "iou"]),
        (["iou", "--profile", "PartyA,Notary"], ["iou", "--profile", "PartyA,Notary"]),
        (["iou", "--profile=all"], ["iou", "--profile=all"]),
        # What is no workload is told to be no node either.
        (["iou", "--profile", "PartyZ"], ["iou", "--profile", "PartyZ"]),
        (["iou", "--profile", "../workloads/iou"], ["iou", "--profile", "../workloads/iou"]),
        (["iou", "--users", "4"], ["iou", "--users", "4"]),
    ],
)
def test_without_names_it_means_the_nodes_that_start_the_flows(given: list[str], read: list[str]) -> None:
    assert with_names(given) == read
