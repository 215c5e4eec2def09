"""Hostile releases: every field of a card and every array of every model, wrong in every way that we could think of.

``cases(home)`` yields (kind, name, what to call). Each call writes a damaged release into a folder of its own, mends
its checksums, and uses it as a person would: load, score, predict, recommend, explain, ``show`` and ``certificate``.
Releases to damage are made once by ``prepare(home)``. ``python -m tests.fuzz.releases HOME FIELDS ONE_IN FIRST`` runs
cases in this process and prints what became of each: a crash is then seen from outside (:mod:`tests.fuzz.counting`).
"""

import copy
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from discreet.releases.loading import CARD

from .counting import report
from .release_files import card_cases, file_cases, header_cases, text_cases
from .using import Case, card_of, case_of, members_of, rewrite, write_card

SEED = 20_26


def cases(home: Path, *, seed: int = SEED, fields: int | None = 8, one_in: int = 1) -> Iterator[Case]:
    """Of each card so many ``fields`` are changed, or all for None; of cases with arrays one in ``one_in`` is run."""
    for case in _every(home, seed, fields):
        if case.kind != "arrays" or zlib.crc32(case.name.encode()) % one_in == 0:
            yield case


def _every(home: Path, seed: int, fields: int | None) -> Iterator[Case]:
    for original in sorted(path for path in home.iterdir() if path.name[0] != "." and (path / CARD).exists()):
        yield from array_cases(original)
        yield from field_cases(original, np.random.default_rng([seed, *original.name.encode()]), fields)
    first = home / "bias"
    yield from card_cases(first, np.random.default_rng(seed))
    yield from header_cases(first)
    yield from file_cases(first)
    yield from text_cases(home / "almanac")


# Arrays

ARRAY_DAMAGE: dict[str, Callable[[Any], Any]] = {
    "cut to length 1": lambda a: a[:1],
    "without its last row": lambda a: a[:-1],
    "with a row more": lambda a: np.concatenate([a, a[:1]]),
    "with a column more": lambda a: np.concatenate([a, a[:, :1]], axis=1) if a.ndim > 1 and a.shape[1] else a[:, None],
    "with a column less": lambda a: a[:, :-1] if a.ndim > 1 else a[None],
    "turned": lambda a: a.T.copy() if a.ndim > 1 else a[:, None],
    "flat": lambda a: a.ravel() if a.ndim > 1 else a[:1].reshape(()),
    "empty": lambda a: a[:0],
    "without columns": lambda a: a[:, :0] if a.ndim > 1 else a[:0],
    "of doubles": lambda a: a.astype(np.float64),
    "of halves": lambda a: a.astype(np.float16),
    "of integers": lambda a: a.astype(np.int32 if a.dtype.kind == "f" else np.int64),
    "of bytes": lambda a: a.astype(np.uint8),
    "of booleans": lambda a: a.astype(np.bool_),
    "of zeros": np.zeros_like,
    "all NaN": lambda a: _filled(a, np.nan, -1),
    "one NaN": lambda a: _with(a, np.nan, 2147483638),
    "one inf": lambda a: _with(a, np.inf, len(a)),
    "one -inf": lambda a: _with(a, -np.inf, -1),
    "one 3e38": lambda a: _with(a, 3e38, -(2**31)),
    "all 3e38": lambda a: _filled(a, 3e38, 2147483638),
    "all -3e38": lambda a: _filled(a, -3e38, len(a) - 1),
    "all 1e-40": lambda a: _filled(a, 1e-40, len(a)),
    "all 1e30, every second negative": lambda a: _filled(a, 1e30, 2**30) * np.resize([1, -1], a.shape).astype(a.dtype),
    "negative": lambda a: _filled(a, -1.5, -2),
}


def _value(array: Any, of_floats: float, of_integers: int) -> float:
    if array.dtype.kind == "f":
        return of_floats
    limits = np.iinfo(np.uint8 if array.dtype == np.bool_ else array.dtype)
    return min(max(of_integers, limits.min), limits.max)


def _filled(array: Any, of_floats: float, of_integers: int) -> Any:
    return np.full_like(array, _value(array, of_floats, of_integers))


def _with(array: Any, of_floats: float, of_integers: int) -> Any:
    changed = array.copy()
    if changed.size:
        changed.flat[changed.size // 2] = _value(array, of_floats, of_integers)
    return changed


def array_cases(original: Path) -> Iterator[Case]:
    """Each array of a release wrong in each way, left out, and one that does not belong there."""

    def damaged(name: str, change: Callable[[Any], Any]) -> Callable[[Path], None]:
        def damage(folder: Path) -> None:
            members = members_of(folder)
            with np.errstate(all="ignore"):
                members[name] = change(members[name])
            rewrite(folder, members)

        return damage

    def without(name: str) -> Callable[[Path], None]:
        return lambda folder: rewrite(folder, {key: a for key, a in members_of(folder).items() if key != name})

    own = members_of(original)
    for name in own:
        if name.startswith("catalogue.") and original.name not in ("bias", "almanac", "own-taste"):
            continue
        for what, change in ARRAY_DAMAGE.items():
            yield case_of("arrays", original, f"{name} {what}", damaged(name, change))
        yield case_of("arrays", original, f"without {name}", without(name))
    for added in ("unknown", "neighbours", "catalogue.more", "x" * 300, "\x1b[2J", ""):
        more = np.zeros(12, dtype=np.float32)
        yield case_of(
            "arrays", original, f"with {added!r:.20}", lambda f, n=added, m=more: rewrite(f, {**members_of(f), n: m})
        )


# Fields of the card

HOSTILE: list[Any] = [
    None, True, False, 0, -1, 1, 2, 3.5, 1e308, -1e308, 1e-320, 10**30, -(10**30), 2**63, 2**31, "", "x", "1",
    "os:system", "paper:nothing", "\x1b]0;owned\x07\x1b[2J", "\u202eevil", "\ud800", "a\x00b", "x" * 100_000,
    [], [None], [[]], {}, {"x": 1}, ["x"], [1, 2, 3], [1e308], {"epsilon": -1, "delta": 2}, float("nan"),
    float("inf"), [{}], {"": {}},
]  # fmt: skip


def field_cases(original: Path, rng: np.random.Generator, count: int | None) -> Iterator[Case]:
    """Fields of a card replaced by something else, left out, or doubled."""
    paths = list(_paths(card_of(original)))
    chosen = [(path, value) for path in paths for value in range(len(HOSTILE) + 2)]
    if count is not None:
        chosen = [chosen[place] for place in sorted(rng.choice(len(chosen), min(count, len(chosen)), replace=False))]
    for path, place in chosen:
        what = f"{'.'.join(map(str, path))} = " + (
            f"{HOSTILE[place]!r:.30}" if place < len(HOSTILE) else ("left out", "nested")[place - len(HOSTILE)]
        )
        yield case_of("fields of cards", original, what, lambda folder, p=path, v=place: _replace(folder, p, v))


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    for key, entry in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from _paths(entry, (*path, key))


def _replace(folder: Path, path: tuple[Any, ...], place: int) -> None:
    card = card_of(folder)
    inside = card
    for key in path[:-1]:
        inside = inside[key]
    if place < len(HOSTILE):
        inside[path[-1]] = copy.deepcopy(HOSTILE[place])
    elif place == len(HOSTILE):
        del inside[path[-1]]
    else:
        inside[path[-1]] = {"deep": [[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]}
    write_card(folder, card)


if __name__ == "__main__":
    where, fields, one_in, first = sys.argv[1:]
    report(cases(Path(where), fields=None if fields == "all" else int(fields), one_in=int(one_in)), int(first))
