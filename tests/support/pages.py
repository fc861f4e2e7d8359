"""Parts of a rendered report page, for tests."""

import json
import re
from pathlib import Path
from typing import Any

from corda_lab.report import page


def without_scripts(text: str) -> str:
    """The page without its script elements."""
    return re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)


def chart_data(text: str) -> dict[str, Any]:
    """The data of the charts that the page embeds as JSON."""
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert match is not None
    data: dict[str, Any] = json.loads(match[1])
    return data


def report_file(folder: Path, name: str) -> str:
    """The report of a run, or a summary beside it. They are made if they are missing, as in every simulated run."""
    if not (folder / name).exists():
        page.render(folder)
    return (folder / name).read_text(encoding="utf-8")


def report_html(folder: Path) -> str:
    """The report page of a run."""
    return report_file(folder, "report.html")


def report_text(folder: Path) -> str:
    """The text of the report in a folder, without tags and scripts, in one line."""
    return " ".join(re.sub(r"<[^>]+>", " ", without_scripts(report_html(folder))).replace("\u00a0", " ").split())


def report_charts(folder: Path) -> dict[str, dict[str, Any]]:
    """The charts of the report in a folder, by identifier."""
    return {chart["id"]: chart for chart in chart_data(report_html(folder))["charts"]}
