"""Open a run's report from a file, offline: open_report.py FILE FOLDER.

Leaves report.png in FOLDER; prints a JSON object with the charts that the page drew and its console errors.
"""

import json
import sys

from chromium import open_page

DRAWN_MS = 60_000


def main(file: str, folder: str) -> None:
    with open_page() as (page, errors):
        page.goto(f"file://{file}")
        page.wait_for_function(
            "document.querySelectorAll('.js-plotly-plot').length > 0"
            " && [...document.querySelectorAll('.js-plotly-plot')].every(plot => plot.querySelector('.main-svg'))",
            timeout=DRAWN_MS,
        )
        plots = page.evaluate(
            "[...document.querySelectorAll('.js-plotly-plot')].map(plot => ({id: plot.id,"
            " points: plot.data.reduce((sum, trace) => sum + (trace.x?.length ?? trace.y?.length ?? 0), 0)}))"
        )
        page.screenshot(path=f"{folder}/report.png", full_page=True)
        empty = [plot["id"] for plot in plots if not plot["points"]]
        print(json.dumps({"charts": len(plots), "empty_charts": empty, "console_errors": errors}))


if __name__ == "__main__":
    main(*sys.argv[1:])
