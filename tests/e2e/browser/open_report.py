"""Opens a report from a file, offline: open_report.py FILE FOLDER.

Writes report.png to FOLDER, and prints a JSON object with the charts on the page and its console errors. In the report
of a sweep, it selects another step by keyboard, in both colour schemes and at the width of a phone.
"""

import json
import sys

from chromium import open_page

DRAWN = "'.mark-line.role-mark path, .mark-symbol.role-mark path, .mark-rect.role-mark path'"
EMPTY = f"[...document.querySelectorAll('.plot')].filter(plot => !plot.querySelector({DRAWN})).map(plot => plot.id)"
STEP_SHOWN = (
    "[...document.querySelectorAll('[data-step]')].filter(facts => !facts.hidden).map(facts => facts.dataset.step)"
)
TOO_WIDE = (
    "[...document.querySelectorAll('figure, article, table, h1')]"
    ".filter(one => !one.closest('.scroll') && one.getBoundingClientRect().right > innerWidth + 1)"
    ".map(one => one.tagName + ' ' + one.textContent.trim().slice(0, 40))"
)


def main(file: str, folder: str) -> None:
    with open_page() as (page, errors):
        page.goto(f"file://{file}")
        empty = page.evaluate(EMPTY)
        page.screenshot(path=f"{folder}/report.png", full_page=True)
        step_changed = None
        if page.locator("#step-after").count():
            before = page.evaluate(STEP_SHOWN)
            page.locator("#step-after").focus()
            page.keyboard.press("Enter")
            after = page.evaluate(STEP_SHOWN)
            step_changed = len(before) == len(after) == 1 and before != after
        page.locator("#theme").click()
        page.set_viewport_size({"width": 400, "height": 900})
        too_wide = page.evaluate(TOO_WIDE)
        seen = {
            "charts": page.locator(".plot svg[role=img]").count(),
            "places": page.locator(".plot").count(),
            "empty_charts": empty,
            "step_changed": step_changed,
            "wider_than_the_page": too_wide,
            "console_errors": errors,
        }
        print(json.dumps(seen))


if __name__ == "__main__":
    main(*sys.argv[1:])
