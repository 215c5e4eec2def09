"""How long ``discreet --help`` takes, beside Python alone and beside Python with the library that reads options.

    python benchmarks/startup.py
    python -X importtime -m discreet --help     # where the time goes

The best of ten processes each: what else the machine does makes a start longer, and never shorter.
"""

import argparse
import subprocess
import sys
import time

LIMIT = 0.2
PROGRAMS = {
    "python": ["-c", "pass"],
    "python, import typer": ["-c", "import typer, typer.main"],
    "import discreet": ["-c", "import discreet"],
    "discreet --version": ["-m", "discreet", "--version"],
    "discreet --help": ["-m", "discreet", "--help"],
    "discreet fit --help": ["-m", "discreet", "fit", "--help"],
}
FLOOR = "python, import typer"


def seconds(arguments: list[str], runs: int) -> float:
    """The quickest of some runs, in a process of its own each."""
    taken = []
    for _ in range(runs):
        started = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        taken.append(time.perf_counter() - started)
    return min(taken)


def main() -> int:
    """Print a line for each program; 1 if the help takes longer than it may."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    measured = {name: seconds(arguments, runs) for name, arguments in PROGRAMS.items()}
    print(f"{'':22}{'seconds':>9}{'times typer':>13}")
    for name, taken in measured.items():
        print(f"{name:22}{taken:9.3f}{taken / measured[FLOOR]:13.1f}")
    slow = measured["discreet --help"] > LIMIT
    print(f"discreet --help may take {LIMIT} s: {'too slow' if slow else 'kept'}")
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
