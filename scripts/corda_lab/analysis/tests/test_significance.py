"""How often a sweep of equal points shows a difference."""

import pytest

import interval_coverage


@pytest.mark.parametrize("order", ["interleaved", "listed"])
@pytest.mark.parametrize("is_curve", [True, False])
def test_a_report_of_seven_equal_points_shows_a_difference_as_seldom_as_it_says(order: str, is_curve: bool) -> None:
    noise, simulations = interval_coverage.lognormal(0.03), 800
    alarms = interval_coverage.report_alarms(
        noise, simulations=simulations, points=7, repeats=3, order=order, is_curve=is_curve
    )
    assert alarms <= 0.05 + 3 * (0.05 * 0.95 / simulations) ** 0.5
