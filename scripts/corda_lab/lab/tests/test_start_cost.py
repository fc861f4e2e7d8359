"""What is said of a start's cost."""

from corda_lab.lab import start_cost


def test_a_start_is_compared_with_what_its_containers_take() -> None:
    assert start_cost.in_words(75.0, 120.0, 12.34, cores=2) == (
        "75.0 s: 1.25 times the 60.0 s that the containers' 120.0 CPU-seconds take on 2 cores;"
        " other processes used 12.3 CPU-seconds"
    )


def test_what_else_the_machine_did_is_left_out_where_it_is_not_known() -> None:
    assert start_cost.in_words(75.0, 120.0, None, cores=4).endswith("CPU-seconds take on 4 cores")


def test_says_so_when_the_containers_are_not_to_be_seen() -> None:
    assert "how much of it was waiting is not known" in start_cost.summary(start_cost.Beginning(), [])
