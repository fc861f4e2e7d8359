"""Headless Chromium for the scripts in this folder."""

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, sync_playwright

FLAGS = [
    "--no-sandbox",  # the container is the sandbox: no capabilities and no root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-sync",
]


@contextmanager
def open_page(*, width: int = 1400, height: int = 1000, hosts: str = "") -> Iterator[tuple[Page, list[str]]]:
    """Yield a new page, and the list to which its console errors and uncaught exceptions are added.

    ``hosts`` maps host names to others, in the syntax of Chromium's --host-resolver-rules.
    """
    flags = [*FLAGS, f"--host-resolver-rules={hosts}"] if hosts else FLAGS
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=flags)
        try:
            page = browser.new_page(viewport={"width": width, "height": height})
            errors: list[str] = []
            page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
            page.on("pageerror", lambda error: errors.append(str(error)))
            yield page, errors
        finally:
            browser.close()
