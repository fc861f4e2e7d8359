"""``lab reproduce`` asks for one thing, and refuses options that do not apply to it."""

import pytest

from corda_lab.cli import reproduce
from corda_lab.errors import LabError

NOTHING = {"NAME": False, "--list": False, "--all": False, "--from": False, "--book": False}


@pytest.mark.parametrize(
    ("asked", "quick", "add", "message"),
    [
        ((), False, None, "NAME: is missing"),
        (("NAME", "--all"), False, None, "NAME, --all: exclude each other"),
        (("--list", "--book"), False, None, "--list, --book: exclude each other"),
        (("--all",), False, 2, "--add: does not apply to --all"),
        (("--from",), False, 1, "--add: does not apply to --from"),
        (("--from",), True, None, "--quick: does not apply to --from"),
        (("--list",), True, None, "--quick: does not apply to --list"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(
    asked: tuple[str, ...], quick: bool, add: int | None, message: str
) -> None:
    with pytest.raises(LabError) as error:
        reproduce.check({**NOTHING, **dict.fromkeys(asked, True)}, quick=quick, add=add)
    assert error.value.message == message
    assert error.value.remedy


@pytest.mark.parametrize(("asked", "quick", "add"), [("NAME", True, 2), ("--all", True, None), ("--book", False, None)])
def test_a_request_that_makes_sense_passes(asked: str, quick: bool, add: int | None) -> None:
    reproduce.check({**NOTHING, asked: True}, quick=quick, add=add)
