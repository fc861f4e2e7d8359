"""The file of the attacks of the suite ``slow``: how soon the bridge was ready after each, and how it was after all."""

from corda_lab.reliability.aftermath import Aftermath

KIND = "abuse"


class AbuseFile(Aftermath):
    """The content of the file. ``ready_seconds`` is the longest time of all attacks."""

    rounds: int
    """How often every attack was made between the counts of the heap and of the ledgers."""
    attacks: dict[str, float]
    """The longest time in seconds until the bridge was ready again, by attack. If the bridge answers one in another way
    than it has to, the test fails, and there is no file."""
