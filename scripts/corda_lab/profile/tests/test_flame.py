"""The flame graph that async-profiler writes, with the names of threads."""

from corda_lab.profile.flame import with_thread_names, with_unit

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


def test_threads_get_their_names_and_all_other_frames_stay() -> None:
    page = with_thread_names(PAGE, {19: "C2 CompilerThread0", 20: "it's a \\ b"})
    assert (
        "'all',\n"
        "' [C2 CompilerThread0 tid=19]',\n"
        "' [it\\'s a \\\\ b tid=20]',\n"
        "' [pool\\'s tid=21]',\n"
        "' java/lang/Thread.run',\n"
        "' java/lang/Thread.start',\n"
        "];\n"
    ) in page
    assert page.startswith(PAGE.partition("'all'")[0])
    assert page.endswith("unpack(cpool);\nn(3,12)\n</script>\n")


def test_a_page_of_another_form_is_returned_as_it_is() -> None:
    assert with_thread_names("<html>", {1: "a"}) == "<html>"


def test_the_values_have_their_unit() -> None:
    page = with_unit(PAGE, "bytes")
    assert "'1 bytes' : n.toString() + ' bytes'" in page
    assert "sample'" not in page
