"""The environment in which a test starts the command line as a separate process."""

import os

from corda_lab.paths import ROOT

PYTHONPATH = os.pathsep.join([str(ROOT / "scripts"), str(ROOT / "loadgen" / "locust")])
"""The value that the launcher sets."""
