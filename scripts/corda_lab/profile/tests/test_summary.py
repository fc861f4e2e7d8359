"""What a profile says in words."""

import pytest

from corda_lab.profile.stacks import Stack, short_frame, summarise
from corda_lab.results.profiles import (
    Event,
    Flows,
    Profile,
    headline,
    load_words,
    rows,
    waiting_words,
)

FLOW = ("net/corda/core/flows/FinalityFlow.call", "org/h2/jdbc/JdbcConnection.commit")
PARK = "sun/misc/Unsafe.park"
QUEUE = "java/util/concurrent/LinkedBlockingQueue.take"


def profile(event: Event, stacks: list[Stack], *, flows: Flows | None = None) -> Profile:
    return Profile(
        name=f"20260102T030405Z-partya-{event.value}",
        node="PartyA",
        event=event,
        engine="an engine",
        started_at="2026-01-02T03:04:05+00:00",
        seconds=10.0,
        flows=flows,
        versions={"CORDA_VERSION": "4.10", "NOTARY": ""},
        **dict(summarise(event, stacks)),
    )


def test_cpu_time_is_samples_times_their_interval() -> None:
    found = profile(Event.CPU, [Stack("a", FLOW, 300), Stack("b", ("net/corda/core/flows/FlowLogic.x",), 100)])
    assert found.total == pytest.approx(2.0)
    assert [(one.name, one.share_percent, one.value) for one in found.components] == [
        ("H2", 75.0, 1.5),
        ("flows", 25.0, 0.5),
    ]
    assert headline(found) == "PartyA, cpu for 10 s by an engine: 2 s of CPU time (0.2 cores)"
    assert waiting_words(found) == ""


def test_allocations_are_bytes_and_name_the_class_of_the_object() -> None:
    found = profile(Event.ALLOC, [Stack("a", (*FLOW, "byte[]_[i]"), 3 * 1024**2), Stack("a", FLOW, 1024**2)])
    assert headline(found) == "PartyA, alloc for 10 s by an engine: 4 MiB of memory allocated (410 KiB per second)"
    assert [(*row[:3], row[4]) for row in rows(found)] == [("100 %", "H2", "4 MiB", "JdbcConnection.commit → byte[]")]


def test_waiting_for_locks_is_nanoseconds_and_leaves_out_threads_without_work() -> None:
    found = profile(Event.LOCK, [Stack("a", (*FLOW, PARK, "x.Lock_[i]"), 10**9), Stack("b", (QUEUE, PARK), 3 * 10**9)])
    assert (found.total, found.idle_percent) == (4.0, 75.0)
    assert [(*row[:3], row[4]) for row in rows(found)] == [("100 %", "H2", "1 s", "JdbcConnection.commit → x.Lock")]
    assert waiting_words(found).startswith("idle: 75 %, by threads that wait for something to do")


def test_the_wall_clock_has_the_states_of_the_threads_that_are_not_idle() -> None:
    stacks = [
        Stack("idle", (QUEUE, PARK), 90 * 10**9),
        Stack("a", (*FLOW, PARK, "pthread_cond_wait"), 6 * 10**9),
        Stack("b", FLOW, 4 * 10**9),
    ]
    found = profile(Event.WALL, stacks)
    assert headline(found).endswith("100 s of the time of all threads (10 threads)")
    assert found.idle_percent == 90.0
    assert found.states == {"parked or waiting for another thread": 60.0, "running, or waiting for a core": 40.0}
    assert [one.share_percent for one in found.components] == [100.0]


def test_a_profile_without_samples_says_so() -> None:
    found = profile(Event.LOCK, [])
    assert (found.total, found.components) == (0.0, ())
    assert waiting_words(found) == "nothing was sampled"


def test_the_load_is_in_words_also_if_it_is_unknown() -> None:
    assert load_words(Flows(ended=25, started=24, seconds=10.0)) == "load: 2.50 flows/s (25 ended in 10 s)"
    assert "unknown" in load_words(None)


def test_the_method_is_the_hottest_of_the_component_with_what_it_calls_most() -> None:
    h2 = FLOW[1]
    stacks = [Stack("a", (h2,), 3), Stack("a", (h2, "java/util/HashMap.get"), 4), Stack("a", ("org/h2/Other.x",), 5)]
    (share,) = profile(Event.CPU, stacks).components
    assert (share.method, share.innermost) == ("JdbcConnection.commit", "HashMap.get")


def test_frames_are_shown_without_package_or_folder() -> None:
    assert short_frame("net/corda/node/Node$run$1.invoke") == "Node$run$1.invoke"
    assert short_frame("/usr/lib/jvm/java-8/libjvm.so") == "libjvm.so"
    assert short_frame("void A<b/c>::d.e") == "void A<b/c>::d.e"
    assert short_frame("java.lang.String") == "java.lang.String"
