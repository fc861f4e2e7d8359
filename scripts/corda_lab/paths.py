"""Paths of the checkout."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache"
CONFIGS = ROOT / "configs"
WORKLOADS = CONFIGS / "workloads"
CORDAPPS = ROOT / "cordapps"
EXTRA_CORDAPPS = CORDAPPS / "extra"
ENV_FILE = ROOT / ".env"
COMPOSE_FILE = ROOT / "compose.yaml"
RESULTS = Path(os.environ.get("LAB_RESULTS_DIR") or ROOT / "results")
"""Folder of the stored runs. Tests set LAB_RESULTS_DIR to keep theirs separate."""
REPRODUCTION = Path(os.environ.get("LAB_REPRODUCTION_DIR") or ROOT / "docs" / "reproduction")
"""Folder of the committed repeats of figures. Tests set LAB_REPRODUCTION_DIR to keep theirs separate."""
