"""``load.faults`` of a sweep file: read, given to the steps, and refused where the lab or the load cannot have them."""

from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.faults.model import Fault
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE
from corda_lab.sweeps import plan
from support.sweep_files import SOUND, mistakes, steps_of, written

SETTINGS = load_settings(ENV_FILE, {"COMPOSE_PROJECT_NAME": "my-lab", "PARTIES": "3"})
KILL = Fault(kind="kill", target="bridge", at_seconds=10.0, for_seconds=5.0)


def with_faults(*faults: str) -> str:
    lines = "".join(f"\n    - {{{fault}}}" for fault in faults)
    return f"{SOUND}load:\n  users: 4\n  faults:{lines}\n"


def refused(tmp_path: Path, text: str) -> list[str]:
    """What is wrong with the points of a file, without their names."""
    with pytest.raises(LabError) as caught:
        plan.plan_sweep(written(tmp_path, text), SETTINGS)
    return [line.partition("): ")[2] for line in caught.value.message.splitlines()]


def test_every_step_has_the_faults_of_the_sweep_but_not_the_load_that_conditions_the_nodes(tmp_path: Path) -> None:
    sweep = written(tmp_path, with_faults("kind: kill, target: Bridge, at: 10s, for: 5s"))
    (step,) = steps_of(sweep, SETTINGS)
    assert step.options("x").faults == (KILL,)
    assert "faults" not in step.load
    conditioning = step.conditioning()
    assert conditioning is not None
    assert conditioning.options.faults == conditioning.until_steady.faults == ()


def test_a_named_step_can_have_faults_of_its_own_or_none(tmp_path: Path) -> None:
    text = (
        with_faults("kind: kill, target: bridge, at: 10s, for: 5s")
        + "steps:\n  - {name: as-before}\n  - {name: calm, load: {faults: []}}\n"
        + "  - {name: slow, load: {faults: [{kind: slow-link, target: partya-partyb, at: 5s, for: 5s, "
        + "parameters: {latency_ms: 80}}]}, shape: {link: [partya-partyb=+1ms]}}\n"
    )
    before, calm, slow = steps_of(written(tmp_path, text), SETTINGS)
    assert before.faults == (KILL,)
    assert calm.faults == ()
    assert slow.faults[0].parameters == {"latency_ms": 80.0}


def test_a_planned_step_is_read_as_it_was_stored(tmp_path: Path) -> None:
    (step,) = steps_of(written(tmp_path, with_faults("kind: kill, target: bridge, at: 10s, for: 5s")), SETTINGS)
    assert type(step).model_validate_json(step.model_dump_json()) == step


def test_mistakes_in_a_fault_name_its_field(tmp_path: Path) -> None:
    (kind,) = mistakes(tmp_path, with_faults("kind: kil, target: bridge, at: 10s, for: 5s"))
    assert "load.faults[0].kind" in kind
    (missing,) = mistakes(tmp_path, with_faults("kind: kill, target: bridge, at: 10s"))
    assert "load.faults[0].for" in missing
    (unknown,) = mistakes(tmp_path, with_faults("kind: kill, target: bridge, at: 10s, for: 5s, seconds: 4"))
    assert "load.faults[0].seconds" in unknown
    (varied,) = mistakes(tmp_path, f"{SOUND}vary: {{load.faults: [a, b]}}\n")
    assert "cannot vary" in varied
    text = "condition: {load: {faults: [{kind: kill, target: bridge, at: 1s, for: 1s}]}}\n"
    (conditioning,) = mistakes(tmp_path, f"{SOUND}{text}")
    assert "condition.load.faults: are not for the load that conditions the nodes" in conditioning


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("kind: kill, target: partyd, at: 1s, for: 1s", "load.faults[0].target: the lab has no 'partyd'"),
        ("kind: kill, target: postgres, at: 1s, for: 1s", "load.faults[0].target: the lab has no 'postgres'"),
        ("kind: reset-link, target: partya-partyb, at: 1s, for: 1s", "is not a link of the lab; it has none"),
        ("kind: kill, target: generator, at: 1s, for: 1s", "ends the load, so the step has no result"),
        ("kind: kill, target: bridge, at: 26s, for: 1s", "load.faults[0].at: kill bridge begins at 26 s, but the load"),
    ],
)
def test_a_fault_that_a_step_cannot_have_is_refused_before_anything_starts(
    tmp_path: Path, fault: str, says: str
) -> None:
    (problem,) = refused(tmp_path, with_faults(fault))
    assert says in problem
