"""Removes the values from error messages, so that requests that fail for the same reason are counted together."""

import re

VALUE = "…"
"""Replaces a value in a message."""

_PROBLEM = re.compile(r"[a-z][a-z0-9-]*: ")
"""The problem's name at the start of a message. Numbers in it are not values: ``http-500: ``."""

_QUOTED = ((re.compile(r'"[^"]+"'), f'"{VALUE}"'), (re.compile(r"(?<!\w)'[^']+'(?!\w)"), f"'{VALUE}'"))

_VALUES = re.compile(
    "|".join(
        (
            # Client ids, UUIDs, hashes, keys, and the identity that Java gives an object.
            r"(?<!\S)\S*-[0-9a-f]{8}-\d+",
            r"[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}",
            r"\b[0-9a-fA-F]{16,}\b",
            r"\b(?=[A-Za-z]*\d)[A-Za-z0-9]{20,}\b",
            r"(?<=@)[0-9a-f]{4,8}\b",
            # Times, then numbers. Digits within a name stay: H2, SHA256.
            r"\b\d{4}-\d\d-\d\d[T ][\d:.,]+Z?",
            r"(?<![A-Za-z0-9])\d+(?:[.,:]\d+)*",
        )
    )
)


def without_values(message: str) -> str:
    """Return the message with ``…`` in place of every quoted text, id, hash, time and number."""
    problem = _PROBLEM.match(message)
    start = problem.end() if problem else 0
    text = message[start:]
    for quoted, shown in _QUOTED:
        text = quoted.sub(shown, text)
    return message[:start] + _VALUES.sub(VALUE, text)
