"""Parts of the generated document keep to the form of the lab's Markdown files."""

from corda_lab.bench.markdown import bullets
from corda_lab.text.words import LINE_LENGTH


def test_a_long_line_of_a_list_is_wrapped_and_stays_one_item() -> None:
    words = " ".join(["word"] * 60)

    [found] = bullets("Warnings", [words, "a short one"])

    title, empty, *lines = found.splitlines()
    assert (title, empty) == ("Warnings:", "")
    assert max(len(line) for line in lines) <= LINE_LENGTH
    assert [line[:2] for line in lines] == ["- ", "  ", "  ", "- "]
    assert " ".join(line[2:] for line in lines[:3]) == words


def test_without_lines_there_is_no_list() -> None:
    assert bullets("Warnings", []) == []
