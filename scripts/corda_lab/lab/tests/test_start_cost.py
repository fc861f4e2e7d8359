"""The line about the CPU time of a start."""

from corda_lab.lab import start_cost


def test_a_start_is_compared_with_what_its_containers_take() -> None:
    assert start_cost.in_words(75.0, 120.0, 12.34, cores=2) == (
        "75.0 s: 1.25 times the 60.0 s that the containers' 120.0 CPU-seconds take on 2 cores;"
        " other processes used 12.3 CPU-seconds"
    )


def test_other_processes_are_left_out_if_their_cpu_time_is_unknown() -> None:
    assert start_cost.in_words(75.0, 120.0, None, cores=4).endswith("CPU-seconds take on 4 cores")


def test_reports_that_the_cpu_time_of_the_containers_is_unknown() -> None:
    assert "its CPU time is unknown" in start_cost.summary(start_cost.Beginning(), [])
