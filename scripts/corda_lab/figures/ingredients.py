"""The files of ``configs/`` that a repeat was measured with: its workloads and presets, each with a digest."""

import hashlib
from collections.abc import Mapping, Sequence

from corda_lab.lab import shape
from corda_lab.paths import WORKLOADS
from corda_lab.results.stored import StoredRun
from corda_lab.steps.entry import StepEntry

DIGEST_LENGTH = 16

WORKLOAD, PRESET = "workload", "preset"
"""The kinds of files. A file is named ``workload iou`` or ``preset tuned``."""


def of_steps(run: StoredRun, steps: Sequence[StepEntry]) -> dict[str, str]:
    """Return the digests of the files that steps of a run were measured with, by name."""
    found: dict[str, str] = {}
    texts = run.manifest.workload_files
    for step in steps:
        names = [step.workload, *([step.conditioning.workload] if step.conditioning else [])]
        found |= {f"{WORKLOAD} {name}": _digest(texts[name]) for name in names if name in texts}
        environment = run.environment(step)
        if environment.preset_sha256:
            preset = environment.shape.get("NODE_PRESET", "")
            found[f"{PRESET} {preset}"] = environment.preset_sha256[:DIGEST_LENGTH]
    return dict(sorted(found.items()))


def changed(files: Mapping[str, str]) -> list[str]:
    """Return the names of the files that are not today what they were: changed, or gone."""
    return [name for name, digest in files.items() if digest != _today(name)]


def _today(name: str) -> str:
    kind, _, own = name.partition(" ")
    if kind == PRESET:
        return shape.preset_sha256(own)[:DIGEST_LENGTH]
    path = WORKLOADS / f"{own}.yaml"
    return _digest(path.read_text(encoding="utf-8")) if path.is_file() else ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_LENGTH]
