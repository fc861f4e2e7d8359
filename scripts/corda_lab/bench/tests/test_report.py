"""``docs/performance.md`` is generated."""

from corda_lab.bench import report
from corda_lab.paths import ROOT


def test_the_published_document_is_that_of_the_published_files() -> None:
    files = sorted((ROOT / "docs" / "performance").glob("*.json"))
    published = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    assert report.document({path: report.kind_of(path) for path in files}) == published, (
        "write it again: scripts/lab bench report docs/performance/*.json --output docs/performance.md"
    )
