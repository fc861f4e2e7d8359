"""Parts of a rendered report page, for tests."""

import re
from pathlib import Path

from corda_lab.analysis.conclusions import Analysis
from corda_lab.report import charts, page
from corda_lab.report.chart import Chart
from corda_lab.results import stored


def without_scripts(text: str) -> str:
    """The page without its script elements."""
    return re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)


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


def report_charts(folder: Path) -> dict[str, Chart]:
    """The charts of the report in a folder, by identifier, those of single steps too."""
    analysis = Analysis(stored.read(folder))
    if not analysis.run.is_sweep:
        return {chart.id: chart for chart in charts.run_charts(analysis)}
    content = page.sweep_content(analysis)
    of_steps = [chart for drawn in content["step_charts"].values() for chart in drawn]
    drawn = (*content["curves"], content["over_time"], *content["breakdown"], *of_steps)
    return {chart.id: chart for chart in drawn}


def places(text: str) -> list[str]:
    """The identifiers of the pictures on a page, each of which must have a name for screen readers."""
    return re.findall(r'<div class="plot" id="([a-z0-9-]+)"><svg[^>]*role="img" aria-label="[^"]+"', text)
