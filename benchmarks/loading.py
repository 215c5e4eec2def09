"""How long it takes, and how much memory, to make, load and split many ratings.

    python benchmarks/loading.py                      # 100 million ratings, as many as the Netflix Prize has
    python benchmarks/loading.py --ratings 5000000
    python benchmarks/loading.py --names 1000000      # the peak of memory beside the size of files full of names

Every line is measured in a process of its own: seconds, and the peak of its memory beside the limit of 6 GB.
Parquet is written in order of users; CSV and the Netflix format film by film, so that loading them must sort.

With ``--names`` files have so many users with random names of 30 bytes in random order, and one with a name of 1 MB.
The peak is above what the same process has after it read a small file of each kind, so that libraries, their threads
and compiled kernels do not count (Linux only). Where some of that was left over and used again, it is the peak above
what is there in the end besides what is held: the larger of the two is printed.

Names that are compressed to half their size in a file cannot be held in twice its size, together with the ratings and
with where each name begins. So beside the file stands how much it holds unpacked, as uncompressed Parquet of the same
rows, and the peak beside that.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LIMIT_GB = 6.0
NETFLIX_RATINGS, NETFLIX_USERS, NETFLIX_ITEMS = 100_480_507, 480_189, 17_770


def generate(ratings: int):
    import discreet as dc

    users = max(100, NETFLIX_USERS * ratings // NETFLIX_RATINGS)
    return dc.synthetic(users=users, items=NETFLIX_ITEMS, ratings=ratings, seed=1)


def write(folder: Path, ratings: int) -> None:
    """Write the same ratings in three formats, a part at a time."""
    import numpy as np
    import polars as pl

    made = generate(ratings)
    made_users, times = made.users.names, made.times
    assert times is not None

    def frame(rows) -> pl.DataFrame:
        return pl.DataFrame(
            {
                "user": made.user_index[rows] + 1,
                "item": made.item_index[rows] + 1,
                "rating": made.values[rows].astype(np.int8),
                "time": times[rows],
            }
        )

    frame(slice(None)).write_parquet(folder / "ratings.parquet", row_group_size=1_000_000)
    order = np.argsort(made.item_index, kind="stable")
    with (folder / "ratings.csv").open("wb") as text, (folder / "combined_data_1.txt").open("wb") as netflix:
        for first in range(0, len(order), 4_000_000):
            part = frame(order[first : first + 4_000_000])
            part.write_csv(text, include_header=first == 0)
            for (item,), rows in part.group_by("item", maintain_order=True):
                netflix.write(f"{item}:\n".encode())
                days = pl.from_epoch("time").dt.strftime("%Y-%m-%d")
                rows.select("user", "rating", days).write_csv(netflix, include_header=False)
    assert len(made_users) == made.n_users


def stage(name: str, folder: Path, ratings: int) -> None:
    """Do one thing and print seconds, and the peak of memory in MB."""
    import discreet as dc

    begin = time.perf_counter()
    if name == "write":
        write(folder, ratings)
    elif name == "generate":
        made = generate(ratings)
    elif name == "parquet":
        made = dc.load(folder / "ratings.parquet", scale=(1, 5), time="time")
    elif name == "csv":
        made = dc.load(folder / "ratings.csv", scale=(1, 5), time="time")
    elif name == "netflix":
        made = dc.load(folder)
    middle = time.perf_counter()
    loaded = peak()
    if name != "write":
        assert len(made) == ratings
        train, test = made.split(test=0.2, seed=1)
        assert len(train) + len(test) == ratings
    print(middle - begin, loaded, time.perf_counter() - middle, peak())


def write_names(path: Path, users: int, each: int, long: int = 10**6) -> None:
    """A file of users with long random names, each with so many ratings, and one with a very long one."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(1)
    order = rng.permutation(np.repeat(np.arange(users, dtype=np.uint32), each))
    items = rng.permutation(50)[np.argsort(np.argsort(order, kind="stable"), kind="stable") % 50]
    names = pl.Series([number.to_bytes(4).hex() + rng.bytes(11).hex() for number in range(users)])
    frame = pl.DataFrame({"user": names.gather(order), "item": items.astype(str), "rating": order % 5 + 1})
    frame = pl.concat([frame, pl.DataFrame({"user": ["x" * long], "item": ["1"], "rating": [5]}, schema=frame.schema)])
    if path.suffix == ".csv":
        frame.write_csv(path)
    else:
        group = len(frame) if "one_group" in path.name else None
        compression = "zstd" if "packed" in path.name else "uncompressed"
        frame.write_parquet(path, compression=compression, row_group_size=group)


def names_stage(path: Path) -> None:
    """Print how much memory reading takes at its peak, and what is held in the end, above what was there before."""
    import discreet as dc

    for small in sorted(path.parent.glob("small*")):
        dc.load(small, scale=(1, 5))
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
    before = memory("VmRSS")
    made = dc.load(path, scale=(1, 5))
    held = made.users.names.nbytes + sum(column.nbytes for column in (made.user_index, made.item_index, made.values))
    print(memory("VmHWM") - min(before, memory("VmRSS") - held), held)


def memory(what: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) * 1024


def names_table(users: int) -> None:
    print(
        f"{users:,} users with names of 30 bytes and one with a name of 1 MB; of 3 runs with 1 rating each the largest"
    )
    print(f"{'':34}{'file (MB)':>10}{'unpacked':>10}{'held / file':>13}{'peak / file':>13}{'peak / unpacked':>17}")
    with tempfile.TemporaryDirectory() as folder:
        for small in ("small.csv", "small.parquet"):
            write_names(Path(folder) / small, 10_000, 15, long=30)
        for each in (1, 10):
            sizes = {}
            others = ["one_group.parquet"] if each == 1 else []
            for name in ("names.csv", "names.parquet", *others, "packed.parquet"):
                path = Path(folder) / name
                in_own_process(["--write-names", str(path), "--users", str(users), "--each", str(each)])
                runs = [in_own_process(["--read-names", str(path)]) for _ in range(3 if each == 1 else 1)]
                above, held = max(run[0] for run in runs), runs[0][1]
                size = sizes[name] = path.stat().st_size
                unpacked = sizes["names.parquet"] if name == "packed.parquet" else size
                what = f"{name}, {each} rating{'s' if each > 1 else ''} each"
                print(f"{what:34}{size / 1e6:10.0f}{unpacked / 1e6:10.0f}", end="")
                print(f"{held / size:13.2f}{above / size:13.2f}{above / unpacked:17.2f}", flush=True)
                path.unlink()


def in_own_process(arguments: list[str]) -> list[float]:
    answer = subprocess.run([sys.executable, __file__, *arguments], check=True, stdout=subprocess.PIPE, text=True)
    return [float(number) for number in answer.stdout.split()]


def peak() -> float:
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes / (1e9 if sys.platform == "darwin" else 1e6)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ratings", type=int, default=100_000_000)
    parser.add_argument("--names", type=int, help="how many users the files of names have")
    for hidden, kind in (("--write-names", Path), ("--read-names", Path), ("--users", int), ("--each", int)):
        parser.add_argument(hidden, type=kind, help=argparse.SUPPRESS)
    parser.add_argument("--stage", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.names:
        return names_table(options.names)
    if options.write_names:
        return write_names(options.write_names, options.users, options.each)
    if options.read_names:
        return names_stage(options.read_names)
    if options.stage:
        stage(options.stage, options.folder, options.ratings)
        return
    worst = 0.0
    print(f"{options.ratings:,} ratings; limit {LIMIT_GB:g} GB")
    print(f"{'':12}{'get (s)':>10}{'peak (GB)':>11}{'split (s)':>11}{'peak (GB)':>11}")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("generate", "write", "parquet", "csv", "netflix"):
            answer = in_own_process(["--ratings", str(options.ratings), "--stage", name, "--folder", folder])
            if name == "write":
                continue
            got, loaded, split, both = answer
            worst = max(worst, both)
            print(f"{name:12}{got:10.1f}{loaded:11.2f}{split:11.1f}{both:11.2f}", flush=True)
    print(f"worst peak {worst:.2f} GB of {LIMIT_GB:g} GB: {'within' if worst <= LIMIT_GB else 'OVER'} the limit")
    sys.exit(worst > LIMIT_GB)


if __name__ == "__main__":
    main()
