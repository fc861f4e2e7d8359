"""What hosts used in a window, from counters that are sampled each second."""

import polars as pl
import pytest

from corda_lab.steps.clocks import HOSTS_SCHEMA, by_part, host_use
from corda_lab.steps.rows import Window
from corda_lab.steps.usage import SAMPLES_SCHEMA


def test_use_is_the_rise_of_counters_in_the_window() -> None:
    rows = [
        ("one", 9.0, 0.0, 0.0, 0.0, 1, 0, 0, 0),
        ("one", 10.0, 5.0, 1.0, 20.0, 100, 7, 1000, 50),
        ("one", 12.0, 8.0, 1.5, 24.0, 300, 9, 3000, 50),
        ("two", 10.0, 5.0, 1.0, 20.0, 100, 7, None, None),
    ]
    found = host_use(pl.DataFrame(rows, schema=HOSTS_SCHEMA, orient="row"), Window(10.0, 20.0))
    assert list(found) == ["one"]
    use = found["one"]
    assert [use.busy_percent, use.stolen_percent] == pytest.approx([75.0, 12.5])
    assert (use.memory_used_bytes, use.swapped_pages) == (200, 2)
    assert (use.received_bytes_per_second, use.sent_bytes_per_second) == (1000.0, 0.0)


def test_an_interface_that_was_not_found_is_not_known() -> None:
    rows = [("one", at, at, 0.0, 2 * at, 1, 0, None, None) for at in (10.0, 12.0)]
    use = host_use(pl.DataFrame(rows, schema=HOSTS_SCHEMA, orient="row"), Window(10.0, 20.0))["one"]
    assert (use.busy_percent, use.received_bytes_per_second) == (50.0, None)


def test_a_part_of_the_lab_on_two_hosts_is_added_up() -> None:
    schema = pl.Schema([("host", pl.String()), *SAMPLES_SCHEMA.items()])
    rows = [
        *(("three", "locust", 10.0 + second, 1.0 + second, 100, None) for second in range(4)),
        *(("one", "locust", 10.3 + second, 50.0 + 2 * second, 7, None) for second in range(2)),
        ("two", "PartyB", 10.0, 9.0, 900, 5),
    ]
    found = by_part(pl.DataFrame(rows, schema=schema, orient="row"))
    assert found.schema == SAMPLES_SCHEMA
    assert sorted(found.rows()) == [
        ("PartyB", 10.0, 9.0, 900, 5),
        ("locust", 10.0, 51.0, 107, None),
        ("locust", 11.0, 54.0, 107, None),
        # The worker's last sample is 0.7 s away; the next one has none within 1.5 s.
        ("locust", 12.0, 55.0, 107, None),
    ]
