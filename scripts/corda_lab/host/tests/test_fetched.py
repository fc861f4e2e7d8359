"""What was fetched is recorded with its hashes, and without the addresses it came from."""

import json
from pathlib import Path

import pytest

from corda_lab.host import fetched


@pytest.fixture(autouse=True)
def no_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetched, "RECORD", tmp_path / "fetched.json")
    monkeypatch.setattr(fetched, "LAUNCHER_RECORD", tmp_path / "packages.sha256")


def test_records_add_up() -> None:
    assert fetched.recorded() == {}
    fetched.record({"b_1.deb": "22"})
    fetched.record({"a_1.deb": "11"})
    fetched.LAUNCHER_RECORD.write_text("33  /var/cache/apt/archives/c_1.deb\n", encoding="utf-8")
    assert list(fetched.recorded().items()) == [("a_1.deb", "11"), ("b_1.deb", "22"), ("c_1.deb", "33")]


@pytest.mark.parametrize("content", ["", "{", "[]"])
def test_unreadable_record_is_empty(content: str) -> None:
    fetched.RECORD.write_text(content, encoding="utf-8")
    assert fetched.recorded() == {}


def test_wheels_are_named_without_the_address_of_their_index(tmp_path: Path) -> None:
    report = tmp_path / "fetched.json"
    download = {
        "url": "https://user:secret@index.example/simple/pyzmq-27.3.0-cp311-manylinux%2Bx.whl",
        "archive_info": {"hash": "sha256=abc", "hashes": {"sha256": "abc"}},
    }
    report.write_text(json.dumps({"version": "1", "install": [{"download_info": download}]}), encoding="utf-8")
    assert fetched.python_packages(report) == {"pyzmq-27.3.0-cp311-manylinux+x.whl": "abc"}


def test_environment_that_the_lab_has_not_created_has_no_record(tmp_path: Path) -> None:
    assert fetched.python_packages(tmp_path / "absent.json") == {}
