"""The words of a verdict on a claim."""

from typing import Literal, get_args

Verdict = Literal["held", "did not hold", "cannot tell", "not testable here"]
HELD: Verdict = "held"
DID_NOT_HOLD: Verdict = "did not hold"
CANNOT_TELL: Verdict = "cannot tell"
NOT_TESTABLE: Verdict = "not testable here"
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
