"""Nothing of the system is changed before somebody has agreed, and one answer is enough."""

import io

import pytest

from bare import consent
from bare.commands import PreparationError

ACTION = "install docker.io"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def nothing_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    # Set before it is deleted, so that what a test answers is taken back.
    monkeypatch.setenv(consent.VARIABLE, "")
    monkeypatch.delenv(consent.VARIABLE)


@pytest.mark.parametrize(
    ("answer", "agreed"),
    [("y\n", True), ("YES\n", True), ("\n", False), ("n\n", False), ("sure\n", False), ("", False)],
)
def test_person_at_the_terminal_is_asked(monkeypatch: pytest.MonkeyPatch, answer: str, *, agreed: bool) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    assert (consent.refusal(ACTION) == "") is agreed


@pytest.mark.parametrize(("answer", "agreed"), [("y\n", True), ("n\n", False)])
def test_one_answer_is_enough(monkeypatch: pytest.MonkeyPatch, answer: str, *, agreed: bool) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(answer))
    consent.refusal(ACTION)
    # A second question would read an empty line, which is no.
    assert (consent.refusal("start dockerd") == "") is agreed
    assert consent.given() is agreed


@pytest.mark.parametrize("stdin", [None, io.StringIO("y\n")], ids=["closed", "no terminal"])
def test_without_a_terminal_nobody_is_asked(monkeypatch: pytest.MonkeyPatch, stdin: io.StringIO | None) -> None:
    monkeypatch.setattr("sys.stdin", stdin)
    assert "no terminal to ask at" in consent.refusal(ACTION)
    assert consent.given() is None


def test_no_gets_the_remedy(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    words = r"have to install docker\.io, but the answer was no\. Nothing was"
    with pytest.raises(PreparationError, match=words) as caught:
        consent.require(ACTION, by_hand="run `apt-get install docker.io`.")
    assert "The lab has to install docker.io." in capsys.readouterr().err
    for way in ("--install", "LAB_INSTALL=yes", "run `apt-get install docker.io`."):
        assert way in caught.value.remedy


@pytest.mark.parametrize(("value", "agreed"), [("yes", True), ("YES", True), ("no", False)])
def test_variable_needs_no_question(monkeypatch: pytest.MonkeyPatch, value: str, *, agreed: bool) -> None:
    monkeypatch.setenv(consent.VARIABLE, value)
    monkeypatch.setattr("sys.stdin", Terminal("" if agreed else "y\n"))
    assert (consent.refusal(ACTION) == "") is agreed


def test_variable_with_another_value_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(consent.VARIABLE, "perhaps")
    with pytest.raises(PreparationError, match="LAB_INSTALL: 'perhaps' is neither yes nor no"):
        consent.refusal(ACTION)


def test_option_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    consent.give()
    assert consent.refusal(ACTION) == ""
