"""The parts of ``lab test`` that can be run alone."""

from enum import Enum


class SuitePart(Enum):
    """A part of the suite; ``--part`` takes the values."""

    LINT = "lint"
    PYTHON = "python"
    JAVA = "java"
    MONITORING = "monitoring"
    END_TO_END = "e2e"
    SLOW = "slow"
    """End-to-end tests that take too long to be run every time."""


UNIT = frozenset({SuitePart.LINT, SuitePart.PYTHON, SuitePart.JAVA, SuitePart.MONITORING})
"""What needs no running lab."""

EVERY_TIME = UNIT | {SuitePart.END_TO_END}
