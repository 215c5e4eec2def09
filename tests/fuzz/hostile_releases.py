"""Run hostile releases and print what became of them: ``python -m tests.fuzz.hostile_releases [FIELDS]``.

FIELDS is how many fields of each card are changed, or ``all``. Releases are made in a temporary folder.
"""

import sys
import tempfile
from collections import Counter
from pathlib import Path

from .counting import counted
from .using import prepare

COLUMNS = ("result", "sentence", "traceback", "hang", "crash")


def main(fields: str) -> int:
    """Print the table; 1 if anything ended badly."""
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder))
        found = counted("tests.fuzz.releases", [folder, fields, 1])
    counts = Counter((one.kind, one.what) for one in found)
    print("| kind | tried | can be used | clear sentence | traceback | hang | crash |")
    print("|---|---|---|---|---|---|---|")
    for kind in dict.fromkeys(one.kind for one in found):
        own = [counts[kind, column] for column in COLUMNS]
        print(f"| {kind} | {sum(own):,} | {' | '.join(f'{count:,}' for count in own)} |")
    own = [sum(one.what == column for one in found) for column in COLUMNS]
    print(f"| **all** | {sum(own):,} | {' | '.join(f'{count:,}' for count in own)} |")
    bad = [one for one in found if one.what not in COLUMNS[:2]]
    for one in bad:
        print(*one, sep="; ", file=sys.stderr)
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "20"))
