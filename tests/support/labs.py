"""A lab whose bridge and Prometheus are those of a test."""

from typing import Any, TypeVar

from corda_lab.lab.lab import Lab

Own = TypeVar("Own", bound=Lab)


def lab_with(lab: Own, bridge: Any, prometheus: Any = None) -> Own:
    """Return the lab, after other clients have taken the place of its own."""
    lab.bridge, lab.prometheus = bridge, prometheus
    return lab
