"""Reads the tab *Corda nodes* of Locust's web UI while a load runs: nodes_tab.py URL FOLDER NODES.

NODES is the number of nodes. Writes nodes.png to FOLDER, and prints a JSON object with the table and console errors.
"""

import json
import sys

from chromium import open_page

READY_MS = 30_000
ROWS_MS = 60_000

TITLES = "[...document.querySelectorAll('thead th')].map(cell => cell.textContent)"
ROWS = "[...document.querySelectorAll('tbody tr')].map(row => [...row.cells].map(cell => cell.textContent))"
KNOWN = f"nodes => {{ const rows = {ROWS}; return rows.length === nodes && rows.every(row => !row.includes('–')); }}"
"""Whether the table has a row for every node, and Prometheus has told all values."""


def main(url: str, folder: str, nodes: str) -> None:
    with open_page() as (page, errors):
        page.goto(url, timeout=READY_MS)
        page.get_by_role("tab", name="Corda nodes").click(timeout=READY_MS)
        page.wait_for_function(KNOWN, arg=int(nodes), timeout=ROWS_MS)
        page.screenshot(path=f"{folder}/nodes.png", full_page=True)
        print(json.dumps({"titles": page.evaluate(TITLES), "rows": page.evaluate(ROWS), "console_errors": errors}))


if __name__ == "__main__":
    main(*sys.argv[1:])
