"""Takes secrets out of texts that are stored or shown: values that are known, and what looks like a secret."""

import re
from collections.abc import Iterable

REDACTED = "<redacted>"

LENGTH_MIN = 6
"""Shorter values are words of their own, and would be taken out everywhere. No generated password is so short."""

KEY_LINES_MAX = 200
"""Lines of a private key. An RSA key of 8,192 bits has a hundred. One without an end must not hide all that follows."""

_WORDS = ("password", "passwd", "passphrase", "secret", "token", "credential")
# A name is looked for from its first character only: a line would otherwise take the square of its length.
_NAME = rf"(?:[\"']|(?<![\w.-]))[\w.-]*(?:{'|'.join(_WORDS)})s?[\"']?"
_VALUE = r"\"[^\"]*\"|'[^']*'|[^\s,;&{}()\[\]\"']+"
_NAMED = re.compile(rf"({_NAME}\s*[=:]\s*)({_VALUE})", re.IGNORECASE)
_IN_URL = re.compile(r"(?<=://)[^\s/@:]+:[^\s/@]+(?=@)")
_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_KEY_ENDS = re.compile(r"-----END [A-Z ]*PRIVATE KEY-----")


def values_in(settings: str) -> frozenset[str]:
    """The secrets in a text of settings such as node.conf: the values whose names say so."""
    found = (match[2].strip("\"'") for match in _NAMED.finditer(settings))
    return frozenset(value for value in found if len(value) >= LENGTH_MIN)


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a text of several lines without its secrets. ``secrets`` are the values that are known."""
    redactor = Redactor(secrets)
    return "\n".join(map(redactor.line, text.split("\n")))


class Redactor:
    """Takes secrets out of the lines of one text. ``secrets`` are the values that are known.

    A private key may have several lines, so the lines have to come in their order.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        # A secret may begin with another one.
        known = sorted((one for one in secrets if len(one) >= LENGTH_MIN), key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, known))) if known else None
        self._key_lines_left = 0

    def line(self, text: str) -> str:
        if self._key_lines_left:
            self._key_lines_left = 0 if _KEY_ENDS.search(text) else self._key_lines_left - 1
            return REDACTED
        if begins := _KEY_BEGINS.search(text):
            self._key_lines_left = 0 if _KEY_ENDS.search(text, begins.end()) else KEY_LINES_MAX
            return f"{text[: begins.start()]}{REDACTED}"
        if self._known:
            text = self._known.sub(REDACTED, text)
        # Nearly all lines have neither, and a log has hundreds of thousands of them.
        folded = text.casefold()
        if any(word in folded for word in _WORDS):
            text = _NAMED.sub(rf"\g<1>{REDACTED}", text)
        return _IN_URL.sub(REDACTED, text) if "://" in text else text
