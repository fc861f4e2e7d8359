"""The lab starts without what ended commands have left in it."""

from pathlib import Path

import pytest

from corda_lab import paths
from corda_lab.faults import plan
from corda_lab.faults.inject import Journal
from corda_lab.faults.plan import make
from corda_lab.lab import lifecycle
from corda_lab.lab.compose import Compose
from corda_lab.lab.docker import Container
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.runs import leftovers
from support.engine import LOAD, Engine, fault


def test_what_was_left_frozen_runs_before_the_lab_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(tmp_path / "engine")
    monkeypatch.setenv("PATH", f"{engine.bin}:/usr/bin:/bin")
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")
    settings = load_settings(ENV_FILE, {"COMPOSE_PROJECT_NAME": "my-lab"})
    one = fault("pause", "partya")
    planned = plan.plan_of(one, Compose(settings), Container(LOAD))
    make(planned)
    Journal("my-lab").note("1", planned.model_copy(update={"is_made": True}))
    assert engine.state("partya") == "paused"
    seen: list[str] = []
    monkeypatch.setattr(lifecycle, "prepare_engine", lambda: None)
    monkeypatch.setattr(lifecycle, "up", lambda *_, **__: seen.append(engine.state("partya")))
    monkeypatch.setattr(leftovers, "collect", lambda _: seen.append("collected"))
    leftovers.start_lab(settings, None)
    assert seen == ["running", "collected"]
