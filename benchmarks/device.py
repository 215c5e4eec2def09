"""Size and speed on a device: an Almanac of MovieLens 1M with epsilon 1, and one of 20,000 items, in Chromium.

    python benchmarks/device.py [--quick]

Times are medians, measured in the page: from the last byte that was loaded to the first list on the screen, and from a
rating to the new list with its reasons, drawing included. A second table says what half floats and bytes cost, on 200
made-up histories. Ends with 1 where a limit is missed.
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

import discreet as dc
from discreet.web.agreement import program_of, served
from discreet.web.export import RELEASE, release_file
from discreet.web.file_format import PRECISIONS
from discreet.web.loss import precision_loss

LIMITS = {"size": 400.0, "first": 300.0, "change": 20.0, "many": 50.0}
CHANGES, LOADS = 40, 5


def private(ratings: dc.Ratings, unit: Any, **settings: Any) -> dc.Release:
    ledger = dc.Ledger(epsilon=1.0, delta=1e-6, unit=unit)
    return dc.Almanac(**settings).fit(dc.TrustedServer(ratings, ledger))


def patterns(release: dc.Release) -> str:
    counts = [int(release.arrays[name].any(axis=0).sum()) for name in ("taste_factors", "item_factors")]
    return f"{counts[0]} of taste, {counts[1]} of ratings"


def first_list(page: Page, address: str) -> float:
    """Milliseconds from the last byte of the release to the first list."""
    page.goto(address)
    page.wait_for_selector("body[data-locked]")
    loaded = "performance.getEntriesByType('resource').find((one) => one.name.endsWith('.discreet')).responseEnd"
    return float(page.evaluate(f"Number(document.body.dataset.ready) - {loaded}"))


def changes(page: Page, count: int) -> list[float]:
    """Milliseconds of each change, while the list of own ratings grows to ``count``."""
    took = []
    for _ in range(count):
        page.locator("#list button[aria-label^='I know']").nth(3).click()
        took.append(float(page.evaluate("Number(document.body.dataset.took)")))
    return took


def measured(release: dc.Release, browser: Any) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as name:
        folder = dc.web.export_release(release, Path(name) / "web")
        size = (folder / RELEASE).stat().st_size / 1000
        first, took = [], []
        with served(folder) as address:
            for _ in range(LOADS):
                context = browser.new_context()  # nothing is in a cache
                page = context.new_page()
                first.append(first_list(page, address))
                if not took:
                    took = changes(page, CHANGES)
                context.close()
    return {
        "size": size,
        "first": statistics.median(first),
        "change": statistics.median(took),
        "slowest": max(took),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="only the first release")
    given = parser.parse_args()
    ratings = dc.load("ml-1m")
    releases = [("ML-1M, user, epsilon 1", private(ratings, dc.User(max_ratings=200)))]
    if not given.quick:
        many = dc.synthetic(users=4000, items=20_000, ratings=600_000, seed=1)
        releases += [
            ("ML-1M, rating, epsilon 1", private(ratings, dc.Rating())),
            ("20,000 items, no noise", dc.Almanac().fit(dc.NoPrivacy(many))),
        ]
    print(
        "| release | patterns | size, compressed | first list | one change | slowest of 40 |\n|---|---|---|---|---|---|"
    )
    holds = True
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program_of("chromium"), args=["--no-sandbox"])
        for name, release in releases:
            found = measured(release, browser)
            large = len(release.catalogue) >= 20_000
            change = LIMITS["many" if large else "change"]
            holds &= found["change"] <= change and (large or found["size"] <= LIMITS["size"])
            holds &= large or found["first"] <= LIMITS["first"]
            size = f"{found['size']:,.0f} KB" + ("" if large else f" (≤ {LIMITS['size']:g})")
            first = f"{found['first']:.0f} ms" + ("" if large else f" (≤ {LIMITS['first']:g})")
            one = f"{found['change']:.1f} ms (≤ {change:g})"
            print(f"| {name} | {patterns(release)} | {size} | {first} | {one} | {found['slowest']:.0f} ms |")
        browser.close()
    heads = (
        "release",
        "precision",
        "size, compressed",
        "difference of scores",
        "of ratings",
        "same 20 in order",
        "kept",
    )
    print(f"\n| {' | '.join(heads)} |")
    print("|---|---|---|---|---|---|---|")
    for name, release in releases:
        for precision in PRECISIONS:
            loss, size = precision_loss(release, precision), len(release_file(release, precision)) / 1000
            equal, kept = f"{loss.equal_lists:.0%}", f"{loss.kept_items:.1%}"
            row = f"{loss.score:.1g} standard deviations | {loss.rating or 0:.1g} points | {equal} | {kept}"
            print(f"| {name} | {precision} | {size:,.0f} KB | {row} |")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
