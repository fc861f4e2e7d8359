"""How often a sweep of equal points shows a difference."""

import interval_coverage


def test_a_report_of_seven_equal_points_shows_a_difference_as_seldom_as_it_says() -> None:
    noise, simulations = interval_coverage.lognormal(0.03), 800
    alarms = interval_coverage.report_alarms(noise, simulations=simulations, points=7, repeats=3)
    assert alarms <= 0.05 + 3 * (0.05 * 0.95 / simulations) ** 0.5
