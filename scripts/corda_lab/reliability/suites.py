"""``lab test``: runs what was chosen, and writes the document of what the long suites have stored."""

from collections.abc import Collection

from corda_lab.lab import lifecycle
from corda_lab.lab.settings import load_settings
from corda_lab.reliability import campaign, document, soak_suite, stored
from corda_lab.selftest import suite, swarm
from corda_lab.selftest.parts import LongSuite, SuitePart
from corda_lab.selftest.suite import Totals

APART = (LongSuite.CHAOS, LongSuite.SOAK, LongSuite.SWARM)
"""The suites that have labs of their own. All others are those of ``selftest.suite``."""


def run(totals: Totals, chosen: Collection[SuitePart | LongSuite], images: lifecycle.ImageChoice | None) -> None:
    """Run the chosen parts and suites one after the other, and add to the totals. Raises LabError."""
    if others := [one for one in chosen if one not in APART]:
        suite.run(totals, load_settings(), others, images)
    if LongSuite.SLOW in chosen and stored.adopt(suite.TEST_RESULTS / stored.STAGED):
        document.publish()
    if LongSuite.CHAOS in chosen:
        campaign.run(totals, images)
    if LongSuite.SOAK in chosen:
        soak_suite.run(totals, images)
    if LongSuite.SWARM in chosen:
        swarm.run(totals, images)
