# SPDX-License-Identifier: Apache-2.0
"""The browser of tests that look at pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
TIMEOUT_MS = 240_000  # 5 MB of JavaScript in a report, on a machine that has other work


@contextmanager
def headless_chromium() -> Iterator:
    """Debian's headless Chromium, driven by playwright."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("there is no Chromium: apt-get install chromium-headless-shell (make setup does)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        # CI is root
        chromium = play.chromium.launch(executable_path=path, args=["--no-sandbox"], timeout=TIMEOUT_MS)
        yield chromium
        chromium.close()


class Watched:
    """A page of a browser; `errors` and `requests` are the page's errors and the requests that
    it made."""

    def __init__(self, browser, **context: object) -> None:
        self.page = browser.new_context(**context).new_page()
        self.page.set_default_timeout(TIMEOUT_MS)
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def table(self, section: str) -> list[list[str]]:
        """The cells of a section's table, the heading first: title and unit with a space."""
        return self.page.eval_on_selector_all(
            f"#{section} table tr",
            "lines => lines.map(line => [...line.cells].map(c => c.innerText.replace(/\\s+/g, ' ').trim()))",
        )

    def columns(self, section: str) -> dict[str, list[str]]:
        heading, *lines = self.table(section)
        assert len(set(heading)) == len(heading)
        return {name: [line[index] for line in lines] for index, name in enumerate(heading)}

    @contextmanager
    def shown_on(self, width: int, height: int, **media: str) -> Iterator:
        """The page on another screen, for a while."""
        before = self.page.viewport_size
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(**media)
        yield self.page
        self.page.emulate_media(media="screen", color_scheme="light")
        self.page.set_viewport_size(before)
