"""How a test starts the command line as a process of its own."""

import os

from corda_lab.paths import ROOT

PYTHONPATH = os.pathsep.join([str(ROOT / "scripts"), str(ROOT / "loadgen" / "locust")])
"""As the launcher sets it."""
