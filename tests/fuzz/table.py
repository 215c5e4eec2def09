"""What became of hostile files, arguments, command lines and releases, as a table by kind.

    python -m tests.fuzz.table [--every 12]

Ends with 1 if anything but a result or a clear sentence came of a case.
"""

import argparse
import contextlib
import os
import tempfile
from collections import Counter
from pathlib import Path

from . import arguments, commands, files
from .counting import counted
from .outcome import CRASH, FINE, HANG, LOST, TRACEBACK, wrong
from .using import prepare

BAD = (TRACEBACK, HANG, CRASH, LOST)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--every", type=int, default=1, help="each so-manieth command line")
    chosen = options.parse_args()
    os.environ["RUST_BACKTRACE"] = "0"  # else reports of panics of polars are seen among the rows
    counts: Counter[tuple[str, str]] = Counter()
    bad: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        homes = [Path(folder) / name for name in ("files", "arguments", "commands", "releases")]
        for home in homes:
            home.mkdir()
        for cases in (
            files.cases(homes[0]),
            arguments.cases(homes[1]),
            commands.cases(homes[2], every=chosen.every),
        ):
            with contextlib.chdir(folder):  # some of them name a folder to write to
                found, how_many = wrong(cases)
            bad, counts = bad + found, counts + how_many
        prepare(homes[3])
        for outcome in counted("tests.fuzz.releases", [homes[3], 8, 1]):
            counts[f"releases: {outcome.kind}", outcome.what] += 1
            if outcome.what not in FINE:
                bad.append(f"{outcome.name}: {outcome.what}: {outcome.said}")
    print("| kind | tried | result or clear sentence |", " | ".join(BAD), "|")
    print("|---|" + "---|" * (2 + len(BAD)))
    for kind in dict.fromkeys(kind for kind, _ in counts):
        own = {what: count for (other, what), count in counts.items() if other == kind}
        fine = sum(own.get(what, 0) for what in FINE)
        print(f"| {kind} | {sum(own.values()):,} | {fine:,} |", " | ".join(str(own.get(what, 0)) for what in BAD), "|")
    for line in bad[:20]:
        print(line)
    return 1 if bad else 0


if __name__ == "__main__":
    raise SystemExit(main())
