"""How much disk the README's first command takes, beside a machine that only reads releases.

python benchmarks/install.py            # fresh environments in a temporary folder, one after the other
python benchmarks/install.py --compiled # also with byte code for everything, as pip does by default
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIMITS = {"the README's first command": 700, "reading a release, numpy alone": 150}
COMMANDS = {
    "the README's first command": [["--no-compile", ".[pictures]"]],
    "reading a release, numpy alone": [["--no-compile", "numpy", "lazy_loader"], ["--no-compile", "--no-deps", "."]],
    "the first command, compiled": [[".[pictures]"]],
}


def megabytes(commands: list[list[str]]) -> float:
    """What an environment takes on the disk, as ``du -m`` has it, pip itself included."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [str(Path(folder) / "bin/pip"), "install", "--quiet", "--disable-pip-version-check"]
        for arguments in commands:
            subprocess.run([*pip, *arguments], check=True, cwd=ROOT)
        return sum(path.lstat().st_blocks for path in Path(folder).rglob("*")) * 512 / 2**20


def main() -> int:
    """Print a line for each environment; 1 if one is larger than it may be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiled", action="store_true", help="also with byte code for everything")
    compiled = parser.parse_args().compiled
    chosen = COMMANDS if compiled else {name: COMMANDS[name] for name in LIMITS}
    measured = {name: megabytes(commands) for name, commands in chosen.items()}
    for name, size in measured.items():
        limit = f"at most {LIMITS[name]}" if name in LIMITS else ""
        print(f"{name:32}{size:8.0f} MB  {limit}")
    return int(any(measured[name] > limit for name, limit in LIMITS.items()))


if __name__ == "__main__":
    sys.exit(main())
