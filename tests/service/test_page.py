"""The page in a real browser, from the service itself: its log is the judge of what is sent."""

import time

import pytest

import discreet as dc
from discreet.web.agreement import program_of

playwright = pytest.importorskip("playwright.sync_api", reason="no playwright on this machine")
ITEMS = "rows => rows.map(row => row.dataset.item)"


def test_nothing_reaches_the_service_after_the_page_has_loaded(server, folder):
    chromium = program_of("chromium")
    if chromium is None:
        pytest.skip("no chromium on this machine")
    release = dc.Release.load(folder)
    with playwright.sync_playwright() as started:
        options = ["--no-sandbox", "--disable-background-networking", "--disable-gpu"]
        browser = started.chromium.launch(executable_path=chromium, args=options)
        page = browser.new_page()
        page.set_default_timeout(120_000)
        refused = []
        page.on("console", lambda said: refused.append(said.text) if said.type == "error" else None)
        page.goto(server.url)
        page.wait_for_selector("body[data-locked]")
        loaded = server.log.read_text()
        assert "GET page 200" in loaded and refused == []  # our headers refuse nothing that the page needs
        title = str(release.catalogue.titles[3])
        page.locator("#search").press_sequentially(title)
        page.wait_for_selector("#found [role=option]")
        page.keyboard.press("Enter")
        own = dc.History.of_likes(release.catalogue, [title])
        expected, until = [one.item for one in release.recommend(own, 10)], time.monotonic() + 20
        while (found := page.locator("#list li").evaluate_all(ITEMS)) != expected and time.monotonic() < until:
            page.wait_for_timeout(20)  # a page answers a moment after it was touched
        browser.close()
    assert found == expected
    assert server.log.read_text() == loaded
