"""The parts of ``lab test`` that can be run separately, and its long suites."""

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


class LongSuite(Enum):
    """A suite that takes too long to run every time. The values are those of ``--suite``."""

    SLOW = "slow"
    """End-to-end tests that take minutes each."""
    MATRIX = "matrix"
    """Every version of Corda on every database."""
    SWARM = "swarm"
    """The lab on several hosts, which are three engines of this machine."""


UNIT = frozenset({SuitePart.LINT, SuitePart.PYTHON, SuitePart.JAVA, SuitePart.MONITORING})
"""Parts that need no running lab."""

EVERY_TIME = UNIT | {SuitePart.SELFCHECK, SuitePart.END_TO_END}
"""What ``lab test`` runs if nothing is chosen."""
