"""The table of components, on stacks that were recorded from real nodes and a real bridge."""

from pathlib import Path

import pytest

from corda_lab.profile.stacks import PARKED, RUNNING, Stack, is_idle, of_frame, place_of, state_of, summarise, table
from corda_lab.results.profiles import Event

RECORDED = sorted((Path(__file__).parent / "recorded").glob("*.txt"))
"""Files of one event each, whose lines are a component and a stack that belongs to it: ``H2: [thread];frame;frame 3``.
The component of a stack that shows a thread without work is ``idle``."""


def recorded(path: Path) -> list[tuple[str, Stack]]:
    """The stacks in a file, each with its component. Threads have no ids, because equal stacks are stored once."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        name, _, stack = line.partition(": ")
        words, _, value = stack.rpartition(" ")
        thread, *frames = words.split(";")
        found.append((name, Stack(thread[1:-1], tuple(frames), int(value))))
    return found


@pytest.mark.parametrize("path", RECORDED, ids=[path.stem for path in RECORDED])
def test_every_recorded_stack_belongs_to_the_component_that_it_was_seen_to_belong_to(path: Path) -> None:
    event = Event(path.stem.rpartition("-")[2])
    for name, stack in recorded(path):
        totals = summarise(event, [stack])
        if name == "idle":
            assert (totals.idle_percent, totals.components) == (100.0, ()), stack
        else:
            assert [one.name for one in totals.components] == [name], stack


@pytest.mark.parametrize(
    ("thread", "name"),
    [
        ("C2 CompilerThread0", "C2 compiler"),
        ("Gang worker#1 (Parallel GC Threads)", "garbage collection"),
        ("VM Thread", "VM thread"),
        ("Signal Dispatcher", "other JVM threads"),
    ],
)
def test_the_threads_of_the_jvm_are_recognised_without_the_names_of_its_functions(thread: str, name: str) -> None:
    assert place_of(thread, ("__clone", "/usr/lib/libjvm.so"))[0].name == name


@pytest.mark.parametrize(
    ("frames", "name"),
    [
        ("net/corda/core/flows/FlowLogic.call org/h2/jdbc/JdbcConnection.commit", "H2"),
        ("net/corda/serialization/internal/amqp/X.y sun/security/provider/SHA2.implCompress0", "hashing"),
        ("co/paralleluniverse/fibers/Fiber.run java/lang/Object.hashCode", "Quasar fibers"),
        ("co/paralleluniverse/fibers/Fiber.checkInstrumentation", "Quasar instrumentation"),
        ("org/postgresql/jdbc/PgStatement.execute", "PostgreSQL driver"),
        ("io/netty/channel/nio/NioEventLoop.run sun/security/ssl/SSLEngineImpl.wrap", "TLS"),
    ],
)
def test_a_stack_belongs_to_the_component_of_its_innermost_frame(frames: str, name: str) -> None:
    assert place_of("Node thread-1", frames.split())[0].name == name


def test_a_stack_that_fits_no_component_is_named_after_its_code() -> None:
    own, frame = place_of("x", ("java/lang/Thread.run", "com/example/trade/Flow.call", "java/util/HashMap.get"))
    assert (own.name, frame) == ("com.example.trade", "com/example/trade/Flow.call")
    jdk, frame = place_of("x", ("java/lang/Thread.run", "java/util/HashMap.get", "libc.so.6"))
    assert (jdk.name, frame) == ("other Java code", "java/util/HashMap.get")
    native, frame = place_of("x", ("__clone", "/usr/lib/jvm/lib/server/libjvm.so"))
    assert (native.name, frame) == ("native code", "/usr/lib/jvm/lib/server/libjvm.so")
    assert place_of("x", ())[0].name == "native code"


def test_no_component_can_never_be_reached_and_none_is_there_twice() -> None:
    components = table().components
    names = [one.name for one in components]
    beginnings = [beginning for one in components for beginning in one.frames]
    assert len(set(names)) == len(names)
    assert len(set(beginnings)) == len(beginnings)
    for one in components:
        assert one.frames or one.threads
        for beginning in one.frames:
            assert of_frame(f"{beginning}x") is one
        assert one.meaning
    assert PARKED in table().states


def test_the_state_of_a_thread_is_that_of_its_innermost_call() -> None:
    parked = ("java/util/concurrent/locks/LockSupport.park", "sun/misc/Unsafe.park", "libjvm.so", "pthread_cond_wait")
    assert state_of(parked) == PARKED
    assert state_of(("java/net/SocketInputStream.socketRead0", "recv")) == "waiting for a connection"
    assert state_of(("sun/nio/ch/FileDispatcherImpl.force0", "fsync")) == "waiting for a disk"
    assert state_of(("java/util/HashMap.get",)) == RUNNING
    assert state_of(("__clone", "/lib/libjvm.so", "/lib/libc.so.6")) == PARKED
    assert state_of(("java/util/HashMap.get", "/lib/libc.so.6")) == RUNNING


def test_a_thread_without_work_is_idle_and_one_that_waits_in_its_work_is_not() -> None:
    waits = ("java/util/concurrent/locks/LockSupport.park", "sun/misc/Unsafe.park")
    queue = Stack("pool-1-thread-1", ("java/util/concurrent/ThreadPoolExecutor.getTask", *waits), 1)
    commit = Stack("Node thread-1", ("org/h2/mvstore/MVStore.commit", *waits), 1)
    assert [is_idle(Event.WALL, stack) for stack in (queue, commit)] == [True, False]
    assert is_idle(Event.LOCK, Stack("main", ("net/corda/node/internal/Node.run",), 1))
    assert not is_idle(Event.CPU, queue), "a sample of CPU time is work"
