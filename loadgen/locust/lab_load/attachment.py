"""Attachments that are made for a run: zip files of random bytes that cannot be compressed any further."""

import io
import random
import zipfile

MEGABYTE = 1_000_000
_OLDEST_DATE = (1980, 1, 1, 0, 0, 0)
"""The first that a zip file can have: the same seed gives the same bytes at any time."""


def make_attachment(megabytes: int, seed: str) -> bytes:
    """A zip file with ``megabytes`` of bytes that ``seed`` decides, stored as they are."""
    source = random.Random(seed)
    file = io.BytesIO()
    entry = zipfile.ZipInfo("random.bin", _OLDEST_DATE)
    # Piece by piece, so that it is not in memory twice.
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive, archive.open(entry, "w") as stream:
        for _ in range(megabytes):
            stream.write(source.randbytes(MEGABYTE))
    return file.getvalue()
