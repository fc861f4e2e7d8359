"""The presets in configs/nodes: what each changes, and which need Corda Enterprise."""

import hashlib
from pathlib import Path

import pytest

from corda_lab.knobs.shape import names
from corda_lab.lab import shape
from corda_lab.paths import CONFIGS

SEVERAL_SETTINGS = {
    "tuned",
    "tuned-soak",
    *(name for name in names("nodes") if name.startswith("artemis-")),
    "no-compression",
}
"""What has been found together (docs/tuning.md), and the published variants of R3's tuning study."""


def settings_of(preset: str) -> list[str]:
    """Return the lines of a preset without comments."""
    text = (CONFIGS / "nodes" / f"{preset}.conf").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


@pytest.mark.parametrize("preset", sorted(set(names("nodes")) - SEVERAL_SETTINGS - {"stock"}))
def test_a_preset_that_shows_one_thing_differs_from_stock_in_one_line(preset: str) -> None:
    stock = settings_of("stock")
    lines = [line for line in settings_of(preset) if line != "enterprise = true"]
    assert len(lines) == len(stock)
    assert len([line for line in lines if line not in stock]) == 1


def test_presets_that_the_open_source_node_would_not_start_with_say_so() -> None:
    found = {name for name in names("nodes") if shape.is_enterprise(name)}
    assert found == {"flow-threads-128", "flow-threads-30", "no-compression", "openssl"}
    # Fields of node.conf that only Corda Enterprise knows.
    own = ("enterpriseConfiguration", "useOpenSsl", "enableP2PCompression")
    assert found == {name for name in names("nodes") if any(field in str(settings_of(name)) for field in own)}


def test_the_hash_of_a_preset_is_that_of_its_text() -> None:
    text = (CONFIGS / "nodes" / "tuned.conf").read_bytes()
    assert shape.preset_sha256("tuned") == hashlib.sha256(text).hexdigest()
    assert shape.preset_sha256("no such preset") == hashlib.sha256(b"").hexdigest()


def test_a_preset_that_includes_another_has_its_settings_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nodes").mkdir()
    (tmp_path / "nodes" / "paid.conf").write_text("enterprise = true\nnode { maximumPoolSize = 7 }\n", encoding="utf-8")
    (tmp_path / "nodes" / "more.conf").write_text('# More.\ninclude "paid.conf"\njvmArgs = []\n', encoding="utf-8")
    monkeypatch.setattr("corda_lab.lab.shape.CONFIGS", tmp_path)
    assert shape.is_enterprise("more")
    assert shape.pool_size_of("more") == "7"
    whole = "# More.\nenterprise = true\nnode { maximumPoolSize = 7 }\n\njvmArgs = []\n"
    assert shape.preset_sha256("more") == hashlib.sha256(whole.encode()).hexdigest()


def test_the_size_of_a_pool_is_read_from_the_preset() -> None:
    assert shape.pool_size_of("connection-pool-30") == "30"
    assert shape.pool_size_of("stock") is None
    assert shape.pool_size_of("no such preset") is None
