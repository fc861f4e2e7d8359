"""Where things are, relative to the checkout."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = ROOT / "configs"
WORKLOADS = CONFIGS / "workloads"
RESULTS = ROOT / "results"
ENV_FILE = ROOT / ".env"
COMPOSE_FILE = ROOT / "compose.yaml"
