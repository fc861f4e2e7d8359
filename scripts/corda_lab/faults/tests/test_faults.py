"""Faults in a running lab: each is made as it should be, and healed whatever happens."""

import json
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from corda_lab.errors import LabError
from corda_lab.faults import inject, plan
from corda_lab.faults.inside import files, routes
from corda_lab.faults.plan import heal, make
from corda_lab.lab.compose import Compose
from corda_lab.lab.docker import Container, NoAnswerError
from lab_workload.faults import FAULTS_FILE, Fault, FaultKind, read_shown
from support.engine import LOAD, ComposeOf, Engine, await_that, fault, helpers


def made(engine: Engine, compose: Compose, one: Fault) -> list[list[str]]:
    """Make a fault and heal it. Returns the calls that changed something."""
    planned = plan.plan_of(one, compose, Container(LOAD))
    assert engine.calls == [], "looking changes nothing"
    make(planned)
    heal(planned)
    return engine.calls


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("kill", [["kill", "--signal", "KILL", "my-lab-partya-1"], ["start", "my-lab-partya-1"]]),
        ("restart", [["stop", "my-lab-partya-1"], ["start", "my-lab-partya-1"]]),
        ("pause", [["pause", "my-lab-partya-1"], ["unpause", "my-lab-partya-1"]]),
    ],
)
def test_what_ends_a_process_or_freezes_it_starts_it_again(
    engine: Engine, compose_of: ComposeOf, kind: FaultKind, expected: list[list[str]]
) -> None:
    assert made(engine, compose_of(), fault(kind, "partya")) == expected
    assert engine.state("partya") == "running"


def test_a_killed_generator_stays_killed(engine: Engine, compose_of: ComposeOf) -> None:
    assert made(engine, compose_of(), fault("kill", "generator")) == [["kill", "--signal", "KILL", LOAD]]
    assert engine.state(LOAD) == "exited"


def test_a_partition_loses_what_goes_to_all_others_but_not_to_itself(engine: Engine, compose_of: ComposeOf) -> None:
    lost, found = helpers(made(engine, compose_of(), fault("partition", "bridge")))
    own = "172.18.0.2"  # the first in the order of names
    assert lost[1] == ["lose", "172.18.0.1", "172.18.0.3", "172.18.0.4"]
    assert found[1] == ["find", *lost[1][1:]]
    assert own not in lost[1]


def test_a_partition_of_two_is_made_at_both_ends(engine: Engine, compose_of: ComposeOf) -> None:
    done = helpers(made(engine, compose_of(), fault("partition", "notary-partya")))
    places = [next(word for word in options if word.startswith("--network=")) for options, _ in done]
    ends = [f"--network=container:my-lab-{name}-1" for name in ("notary", "partya")]
    assert places == [*ends, *ends]
    (_, to_partya), (_, to_notary) = done[:2]
    assert to_partya[0] == to_notary[0] == "lose"
    assert to_partya[1:] != to_notary[1:]


def test_a_partition_of_two_also_silences_the_link_through_which_they_talk(
    engine: Engine, compose_of: ComposeOf
) -> None:
    done = made(engine, compose_of(LINKS="partya-notary=+1ms"), fault("partition", "notary-partya"))
    added, removed = (call for call in done if call[0] == "exec")
    assert [call[0] for call in done] == ["run", "run", "exec", "run", "run", "exec"]
    assert added[:3] == ["exec", "my-lab-links-1", "python3"]
    assert added[-3:-1] == ["add", "notary-partya"]
    assert {(one["type"], one["stream"]) for one in json.loads(added[-1])} == {
        ("timeout", "upstream"),
        ("timeout", "downstream"),
    }
    assert removed[-3:] == ["remove", *added[-2:]]


def test_no_helper_is_privileged_or_has_the_socket_of_the_engine(engine: Engine, compose_of: ComposeOf) -> None:
    for number, one in enumerate((fault("partition", "partya"), fault("full-disk", "partya"))):
        planned = plan.plan_of(one, compose_of(), Container(LOAD))
        make(planned)
        ((options, _),) = helpers(engine.calls[number:])
        assert "--cap-drop=ALL" in options
        added = [word for word in options if word.startswith("--cap-add")]
        assert added == (["--cap-add=NET_ADMIN"] if one.kind == "partition" else [])
        assert not [word for word in options if word.startswith(("--privileged", "--volume", "-v", "--mount"))]


def test_a_full_disk_changes_the_limits_as_the_user_of_the_container(engine: Engine, compose_of: ComposeOf) -> None:
    (options, forbids), (_, allows) = helpers(made(engine, compose_of(), fault("full-disk", "partya")))
    assert {"--pid=container:my-lab-partya-1", "--user=1000:1000", "--network=none"} <= set(options)
    assert (forbids, allows) == (["forbid"], ["allow"])


def test_a_memory_limit_is_what_is_in_use_and_then_what_it_was(engine: Engine, compose_of: ComposeOf) -> None:
    limited, freed = made(engine, compose_of(), fault("memory-limit", "partyb"))
    used = str(512 * 1024**2)
    assert limited == ["update", "--memory", used, "--memory-swap", used, "my-lab-partyb-1"]
    assert freed == ["update", "--memory", "1610612736", "--memory-swap", "3221225472", "my-lab-partyb-1"]


def test_a_limit_of_what_nobody_knows_is_not_made(engine: Engine, compose_of: ComposeOf) -> None:
    engine.set_memory("0B / 1.5GiB")
    with pytest.raises(LabError, match="does not say how much memory"):
        plan.plan_of(fault("memory-limit", "partya"), compose_of(), Container(LOAD))


def test_a_memory_limit_that_the_kernel_refuses_gets_more_room(engine: Engine, compose_of: ComposeOf) -> None:
    engine.refuse(str(512 * 1024**2))
    limited, _ = made(engine, compose_of(), fault("memory-limit", "partyb"))[1:]
    assert int(limited[2]) == int(512 * 1024**2 * 1.05)


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (
            fault("slow-link", "partya-partyb", latency_ms=200, kilobytes_per_second=50),
            {"latency": {"latency": 100, "jitter": 0}, "bandwidth": {"rate": 50}},
        ),
        (fault("reset-link", "partya-partyb"), {"reset_peer": {"timeout": 0}}),
    ],
)
def test_links_get_toxics_in_both_directions(
    engine: Engine, compose_of: ComposeOf, one: Fault, expected: Mapping[str, object]
) -> None:
    added, removed = made(engine, compose_of(LINKS="partya-partyb=+1ms"), one)
    assert added[:3] == ["exec", "my-lab-links-1", "python3"]
    assert added[-3:-1] == ["add", "partya-partyb"]
    assert removed[-3:] == ["remove", *added[-2:]]
    toxics = json.loads(added[-1])
    for stream in ("upstream", "downstream"):
        assert {each["type"]: each["attributes"] for each in toxics if each["stream"] == stream} == expected


def test_a_part_that_ended_meanwhile_is_started_again(engine: Engine, compose_of: ComposeOf) -> None:
    one = fault("memory-limit", "partya")
    planned = plan.plan_of(one, compose_of(), Container(LOAD))
    make(planned)
    engine.set("my-lab-partya-1", "exited")
    heal(planned)
    assert engine.state("partya") == "running"


def test_what_was_removed_needs_no_healing(engine: Engine, compose_of: ComposeOf) -> None:
    planned = plan.plan_of(fault("pause", "partya"), compose_of(), Container(LOAD))
    (engine.home / "state" / "my-lab-partya-1").unlink()
    heal(planned)
    assert engine.calls == []


def test_faults_of_a_load_are_made_in_time_healed_and_described(engine: Engine, compose_of: ComposeOf) -> None:
    faults = (fault("pause", "partya", at=0.1, lasts=0.2), fault("kill", "bridge", at=0.2, lasts=60))
    with inject.injecting(compose_of(), faults, Container(LOAD)) as injection:
        began = injection.began_at
        await_that(lambda: engine.state("bridge") != "running" and engine.state("partya") != "paused")
    frozen, killed = injection.entries
    assert frozen.began_at is not None
    assert frozen.healed_at is not None
    assert frozen.began_at - began >= 0.1
    assert frozen.healed_at - frozen.began_at >= 0.2
    assert killed.healed_at is not None, "the load ended before its time"
    assert (engine.state("partya"), engine.state("bridge")) == ("running", "running")
    assert not inject.is_left("my-lab")


def shown(engine: Engine) -> list[list[str]]:
    """The faults that were shown after each change: ``kill notary``."""
    calls = map(json.loads, (engine.home / "calls").read_text(encoding="utf-8").splitlines())
    scripts = [call[-1] for call in calls if "exec" in call and FAULTS_FILE in call[-1]]
    texts = [shlex.split(script)[2] for script in scripts]
    return [[f"{one.kind} {one.target}" for one in read_shown(text)] for text in texts]


def test_a_fault_is_shown_as_long_as_it_lasts(engine: Engine, compose_of: ComposeOf) -> None:
    faults = (fault("pause", "partya", lasts=60), fault("kill", "bridge", at=0.5, lasts=60))
    with inject.injecting(compose_of(), faults, Container(LOAD)) as injection:
        await_that(lambda: all(one.was_made for one in injection.entries))
    seen = shown(engine)
    assert seen[0] == ["pause partya"]
    assert sorted(seen[1]) == ["kill bridge", "pause partya"]
    assert seen[-1] == []


def test_a_fault_after_the_end_of_the_load_is_not_made(engine: Engine, compose_of: ComposeOf) -> None:
    with inject.injecting(compose_of(), (fault("kill", "bridge", at=60),), Container(LOAD)) as injection:
        pass
    (entry,) = injection.entries
    assert (entry.was_made, entry.problem) == (False, inject.TOO_LATE)
    assert engine.calls == []


def test_a_fault_that_cannot_be_made_leaves_nothing(engine: Engine, compose_of: ComposeOf) -> None:
    engine.refuse("pause my-lab-partya-1")
    with inject.injecting(compose_of(), (fault("pause", "partya", lasts=60),), Container(LOAD)) as injection:
        await_that(lambda: injection.entries[0].problem != inject.TOO_LATE)
    (entry,) = injection.entries
    assert not entry.was_made
    assert "could not be made" in (entry.problem or "")
    assert not inject.is_left("my-lab")


@pytest.mark.parametrize("is_healed", [True, False])
def test_a_fault_that_the_engine_may_still_make_is_healed_after_it_or_stays_in_the_journal(
    engine: Engine, compose_of: ComposeOf, monkeypatch: pytest.MonkeyPatch, is_healed: bool
) -> None:
    def no_answer(*_: object) -> None:
        raise NoAnswerError("Docker did not answer within 60 s")

    monkeypatch.setattr(inject, "make", no_answer)
    if not is_healed:
        engine.refuse("pause my-lab-partya-1")
    with inject.injecting(compose_of(), (fault("pause", "partya", lasts=60),), Container(LOAD)) as injection:
        await_that(lambda: injection.entries[0].problem != inject.TOO_LATE)
    (entry,) = injection.entries
    assert not entry.was_made
    assert entry.problem is not None
    assert entry.problem.startswith("it could not be made: Docker did not answer")
    assert ("; it could not be healed: " in entry.problem) != is_healed
    assert (entry.is_left, inject.is_left("my-lab")) == (not is_healed, not is_healed)
    if is_healed:
        assert engine.calls == [["pause", "my-lab-partya-1"], ["unpause", "my-lab-partya-1"]]


def test_an_error_under_load_heals(engine: Engine, compose_of: ComposeOf) -> None:
    def interrupted_load() -> None:
        with inject.injecting(compose_of(), (fault("pause", "partya", lasts=60),), Container(LOAD)):
            await_that(lambda: engine.state("partya") == "paused")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted_load()
    assert engine.state("partya") == "running"


def test_a_process_at_its_limit_of_file_sizes_cannot_write_until_it_is_allowed(tmp_path: Path) -> None:
    writer = (
        "import sys\n"
        f"file = open({str(tmp_path / 'file')!r}, 'ab', buffering=0)\n"
        "for line in sys.stdin:\n"
        "    try: file.write(b'x'); print('wrote', flush=True)\n"
        "    except OSError as error: print(error.strerror, flush=True)\n"
    )
    said = []
    with subprocess.Popen(
        [sys.executable, "-c", writer], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for verb in ("allow", "forbid", "allow"):
            files.limit(process.pid, verb)
            process.stdin.write("\n")
            said.append(process.stdout.readline().strip())
    assert said == ["wrote", "File too large", "wrote"]


def test_the_networks_of_a_namespace_are_found_without_the_loopback() -> None:
    found = {own & mask for own, mask in routes.networks()}
    assert all(network >> 24 != 127 for network in found)
    known = [line.split() for line in Path("/proc/net/route").read_text(encoding="ascii").splitlines()[1:]]
    local = {int.from_bytes(bytes.fromhex(words[1]), "little") for words in known if words[2] == "00000000"}
    assert local - {0} <= found, "every network that is reached directly"
