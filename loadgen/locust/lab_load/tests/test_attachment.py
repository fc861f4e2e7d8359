"""Attachments that are made for a run."""

import io
import zipfile

from lab_load.attachment import MEGABYTE, make_attachment


def test_an_attachment_is_a_zip_file_of_stored_bytes() -> None:
    content = make_attachment(2, "run/1")

    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        (entry,) = archive.infolist()
        assert (entry.file_size, entry.compress_size) == (2 * MEGABYTE, 2 * MEGABYTE)
        assert archive.testzip() is None
    assert len(content) < 2 * MEGABYTE + 1000


def test_the_seed_decides_the_bytes() -> None:
    assert make_attachment(1, "run/1") == make_attachment(1, "run/1")
    assert make_attachment(1, "run/1") != make_attachment(1, "run/2")
