"""Which ledgers are read, and on which threads. What is read of them needs databases (``tests/e2e``)."""

import threading
from pathlib import Path

import pytest

from corda_lab.audit import Audit, audit_lab, databases
from corda_lab.audit.databases import Databases, Deadline, Extract
from corda_lab.lab.compose import Compose
from corda_lab.lab.docker import HERE
from corda_lab.lab.settings import load_settings
from corda_lab.paths import ENV_FILE

SETTINGS = load_settings(ENV_FILE, {"PARTIES": "2"})


def test_an_interrupt_ends_the_reading_on_one_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C arrives in the main thread. One that waits for another thread would wait until everything is read."""
    threads = []

    def read(*_: object) -> list[Path]:
        threads.append(threading.current_thread())
        raise KeyboardInterrupt

    monkeypatch.setattr(databases, "present", lambda _: dict.fromkeys(("notary", "partya", "partyb"), HERE))
    monkeypatch.setattr(Databases, "_read_h2", read)
    with pytest.raises(KeyboardInterrupt):
        Databases(Compose(SETTINGS), tmp_path, Deadline(30)).read(Extract())
    assert threads == [threading.main_thread()]


@pytest.mark.parametrize(("version", "is_read"), [("3.3", False), ("4.5", False), ("4.6", True), ("4.8.11", True)])
def test_ledgers_are_read_from_corda_4_6_on(version: str, is_read: bool) -> None:
    reason = databases.unsupported(SETTINGS.with_values({"CORDA_VERSION": version}))
    assert (reason is None) == is_read
    if reason:
        lab = Compose(SETTINGS.with_values({"CORDA_VERSION": version}))
        assert audit_lab(lab) == Audit(verdict="cannot tell", reasons=(reason,))
