"""The parts of ``lab test`` that can be run separately."""

from enum import Enum


class SuitePart(Enum):
    """A part of the suite. The values are those of ``--part``."""

    LINT = "lint"
    PYTHON = "python"
    JAVA = "java"
    MONITORING = "monitoring"
    SELFCHECK = "selfcheck"
    """``lab selfcheck``: the pipeline against stub nodes whose truth is known."""
    END_TO_END = "e2e"
    SLOW = "slow"
    """End-to-end tests that take too long to run every time."""


UNIT = frozenset({SuitePart.LINT, SuitePart.PYTHON, SuitePart.JAVA, SuitePart.MONITORING})
"""Parts that need no running lab."""

EVERY_TIME = UNIT | {SuitePart.SELFCHECK, SuitePart.END_TO_END}
