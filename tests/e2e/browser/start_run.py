"""Starts a run in Locust's web UI, waits for completed flows and stops it: start_run.py URL FOLDER.

Its IOUs have the value 7.

Writes form.png and running.png to FOLDER, and prints a JSON object with what the page showed.
"""

import json
import re
import sys

from chromium import open_page
from playwright.sync_api import expect

READY_MS = 30_000
FLOWS_MS = 120_000
FLOWS_MIN = 5


COMPLETED = """() => {
    const rows = [...document.querySelectorAll("tbody tr")];
    const row = rows.find((row) => row.cells[1]?.innerText === "Iou");
    return row ? Number(row.cells[2].innerText.replaceAll(",", "")) : 0;
}"""
"""Reads the number of requests from the flow's row in the statistics table."""


def main(url: str, folder: str) -> None:
    with open_page() as (page, errors):
        page.goto(url, timeout=READY_MS)
        custom = page.get_by_role("button", name=re.compile("custom parameters", re.IGNORECASE))
        again = page.get_by_role("button", name="New", exact=True)
        expect(custom.or_(again)).to_be_visible(timeout=READY_MS)
        if again.is_visible():  # the page shows the values of an earlier run
            page.get_by_role("button", name="Reset", exact=True).click()
            again.click()
        custom.click()
        page.locator("[name=userCount]").fill("2")
        page.locator("[name=spawnRate]").fill("2")
        page.locator("[name=setParameters]").fill("iouValue=7")
        fields = page.evaluate("[...document.querySelectorAll('form [name]')].map(field => field.name)")
        panel = page.locator("#lab-workload")
        expect(panel).to_contain_text("Set Parameters can change", timeout=READY_MS)
        about = panel.inner_text()
        page.screenshot(path=f"{folder}/form.png", full_page=True)
        before = page.evaluate(COMPLETED)  # the page shows an earlier run's value until the new run has one
        page.get_by_role("button", name=re.compile("^start", re.IGNORECASE)).click()
        grown = f"([before, least]) => {{ const now = ({COMPLETED})(); return now !== before && now >= least; }}"
        page.wait_for_function(grown, arg=[before, FLOWS_MIN], timeout=FLOWS_MS)
        page.screenshot(path=f"{folder}/running.png")
        page.get_by_role("button", name=re.compile("^stop", re.IGNORECASE)).first.click()
        expect(page.get_by_text(re.compile("stopped", re.IGNORECASE)).first).to_be_visible(timeout=FLOWS_MS)
        seen = {"fields": fields, "about": about, "completed": page.evaluate(COMPLETED), "console_errors": errors}
        print(json.dumps(seen))


if __name__ == "__main__":
    main(*sys.argv[1:])
