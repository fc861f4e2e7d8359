"""Generates attachments for a run: zip files of random bytes, which cannot be compressed."""

import io
import random
import zipfile

MEGABYTE = 1_000_000
_OLDEST_DATE = (1980, 1, 1, 0, 0, 0)
"""The earliest date in a zip file. With a fixed date, the same seed always gives the same bytes."""


def make_attachment(megabytes: int, seed: str) -> bytes:
    """Return a zip file with ``megabytes`` of uncompressed random bytes that follow from ``seed``."""
    source = random.Random(seed)
    file = io.BytesIO()
    entry = zipfile.ZipInfo("random.bin", _OLDEST_DATE)
    # Written in pieces, so that the content is not in memory twice.
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive, archive.open(entry, "w") as stream:
        for _ in range(megabytes):
            stream.write(source.randbytes(MEGABYTE))
    return file.getvalue()
