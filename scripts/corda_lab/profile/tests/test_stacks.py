"""Stacks and flame graphs as async-profiler writes them, and thread dumps as a JVM prints them."""

import pytest

from corda_lab.errors import LabError
from corda_lab.profile.jvm import names_in
from corda_lab.profile.stacks import Stack, collapse, parse, with_names

JAVA_8 = """\
Full thread dump OpenJDK 64-Bit Server VM (25.504-b08 mixed mode):

"Node thread-1" #57 prio=5 os_prio=0 tid=0x00007f2c40d2e000 nid=0x6b waiting on condition [0x00007f2bd7bfc000]
   java.lang.Thread.State: WAITING (parking)

"Thread-3 (ActiveMQ-server-ActiveMQServerImpl::name=P2P)" #31 daemon prio=5 os_prio=0 tid=0x00007f nid=0x3c runnable

"C2 CompilerThread0" #5 daemon prio=9 os_prio=0 tid=0x00007f2c6c0c1800 nid=0x13 waiting on condition [0x0]

"GC task thread#0 (ParallelGC)" os_prio=0 tid=0x00007f2c6c01f000 nid=0xa runnable
"VM Periodic Task Thread" os_prio=0 tid=0x00007f2c6c0e1000 nid=0x17 waiting on condition
"""
JAVA_21 = """\
"main" #1 [9] prio=5 os_prio=0 cpu=812.06ms elapsed=93.66s tid=0x00007fc40c016ab0 nid=9 waiting on condition [0x7f]

"C1 CompilerThread0" #12 [21] daemon prio=9 os_prio=0 cpu=2.88ms elapsed=93.65s tid=0x7fc4 nid=21 waiting on condition
"""


def test_the_names_in_a_thread_dump_are_found_by_thread_id() -> None:
    assert names_in(JAVA_8) == {
        0x6B: "Node thread-1",
        0x3C: "Thread-3 (ActiveMQ-server-ActiveMQServerImpl::name=P2P)",
        0x13: "C2 CompilerThread0",
        0x0A: "GC task thread#0 (ParallelGC)",
        0x17: "VM Periodic Task Thread",
    }
    assert names_in(JAVA_21) == {9: "main", 21: "C1 CompilerThread0"}


def test_a_stack_has_its_thread_its_frames_and_its_value() -> None:
    text = (
        "[Node thread-1 tid=107];java/lang/Thread.run;void f<A, B>::g 12\n"
        "[java tid=19];start_thread 3\n"
        "[tid=7];x 1\n"
        "all 4\n"
    )
    assert list(parse(text, {19: "C2 CompilerThread0"})) == [
        Stack("Node thread-1", ("java/lang/Thread.run", "void f<A, B>::g"), 12),
        Stack("C2 CompilerThread0", ("start_thread",), 3),
        Stack("", ("x",), 1),
        Stack("", ("all",), 4),
    ]


@pytest.mark.parametrize("line", ["a;b many", "12"])
def test_a_line_that_is_no_stack_is_an_error_with_its_number(line: str) -> None:
    with pytest.raises(LabError, match=r"Line 2 of the profile is not a stack"):
        list(parse(f"a;b 1\n{line}\n", {}))


def test_stacks_of_threads_with_the_same_name_become_one() -> None:
    stacks = [Stack("pool", ("a", "b"), 2), Stack("", ("c",), 1), Stack("pool", ("a", "b"), 3)]
    assert collapse(stacks) == "[no name];c 1\n[pool];a;b 5\n"


PAGE = """\
<script>
	function samples(n) {
		return n === 1 ? '1 sample' : n.toString() + ' samples';
	}
const cpool = [
'all',
' [java tid=19]',
'*20]',
'!pool\\'s tid=21]',
' java/lang/Thread.run',
'1start'
];
unpack(cpool);
n(3,12)
</script>
"""


def test_a_flame_graph_has_the_names_of_its_threads_and_its_unit_and_all_else_stays() -> None:
    page = with_names(PAGE, {19: "C2 CompilerThread0", 20: "it's a \\ b"}, "bytes")
    assert (
        "'all',\n"
        "' [C2 CompilerThread0 tid=19]',\n"
        "' [it\\'s a \\\\ b tid=20]',\n"
        "' [pool\\'s tid=21]',\n"
        "' java/lang/Thread.run',\n"
        "' java/lang/Thread.start',\n"
        "];\n"
    ) in page
    assert "'1 bytes' : n.toString() + ' bytes'" in page
    assert page.endswith("unpack(cpool);\nn(3,12)\n</script>\n")
    assert with_names("<html>", {1: "a"}, "bytes") == "<html>", "a page of another form"
