"""The paper's Tables 5 to 11, as printed, and the cases that they are about."""

from collections.abc import Mapping, Sequence

from discreet.papers.dp_vae.experiment import BUILT, METRICS, measured
from discreet.papers.frame.cases import Grid
from discreet.papers.frame.printed import PrintedRow, PrintedTable

Three = tuple[float, float, float]
"""NDCG@100, Recall@20 and Recall@50."""
HERE, LARGE, FILMS = "ml-100k", "ml-20m", "netflix"

CONSTRUCTION: Mapping[str, tuple[Three, Three, Three, Three]] = {
    "DP-VAE, neither": ((0.24, 0.45, 0.42), (0.28, 0.47, 0.43), (0.50, 0.62, 0.58), (0.52, 0.64, 0.60)),
    "KNN": ((0.21, 0.36, 0.39), (0.26, 0.38, 0.40), (0.48, 0.14, 0.16), (0.49, 0.16, 0.17)),
    "SVD": ((0.22, 0.40, 0.41), (0.27, 0.40, 0.42), (0.50, 0.14, 0.18), (0.50, 0.17, 0.21)),
    "LightFM": ((0.15, 0.13, 0.22), (0.16, 0.14, 0.24), (0.16, 0.12, 0.17), (0.17, 0.16, 0.19)),
    "VAE": ((0.33, 0.51, 0.49), (0.33, 0.53, 0.50), (0.52, 0.65, 0.60), (0.54, 0.66, 0.61)),
    "DPMF": ((0.19, 0.31, 0.32), (0.21, 0.32, 0.34), (0.35, 0.13, 0.16), (0.35, 0.15, 0.18)),
    "DPAE": ((0.22, 0.32, 0.33), (0.22, 0.35, 0.36), (0.46, 0.35, 0.39), (0.47, 0.37, 0.42)),
}
"""Table 5: MovieLens 20M as it is and as built, Netflix as it is and as built."""
PRIORS: Mapping[str, Mapping[str, Three]] = {
    "DP-VAE, neither": {HERE: (0.40, 0.52, 0.50), LARGE: (0.28, 0.47, 0.43), FILMS: (0.52, 0.64, 0.60)},
    "DP-VAE, priors": {HERE: (0.42, 0.53, 0.52), LARGE: (0.28, 0.48, 0.44), FILMS: (0.53, 0.65, 0.62)},
    "VAE": {HERE: (0.42, 0.61, 0.60), LARGE: (0.33, 0.53, 0.50), FILMS: (0.54, 0.66, 0.61)},
    "VAE, priors": {HERE: (0.44, 0.62, 0.60), LARGE: (0.34, 0.55, 0.52), FILMS: (0.54, 0.68, 0.62)},
}
"""Table 6."""
CLIPS: Mapping[str, Mapping[str, Three]] = {
    "DP-VAE, neither": PRIORS["DP-VAE, neither"],
    "DP-VAE, optimal clip": {HERE: (0.41, 0.53, 0.52), LARGE: (0.29, 0.47, 0.45), FILMS: (0.53, 0.66, 0.61)},
}
"""Table 7."""
MODELS: Mapping[str, Three] = {
    "DP-VAE": (0.41, 0.53, 0.52),
    "KNN": (0.26, 0.35, 0.36),
    "SVD": (0.26, 0.34, 0.35),
    "LightFM": (0.25, 0.18, 0.28),
    "VAE, priors": (0.44, 0.62, 0.60),
    "DPMF": (0.21, 0.17, 0.21),
    "DPAE": (0.26, 0.36, 0.37),
}
"""Table 8."""
OURS = (
    "Mult-VAE, Adam",
    "EASE",
    "PureSVD",
    "item neighbours",
    "popularity",
    "Almanac, proven",
    "popularity, proven",
    "random",
)
"""Beside Table 8, with nothing printed."""
BOTH: Mapping[str, Mapping[str, Three]] = {
    "DP-VAE, neither": {LARGE: (0.28, 0.47, 0.43), FILMS: (0.52, 0.64, 0.60)},
    "DP-VAE": {LARGE: (0.30, 0.48, 0.45), FILMS: (0.54, 0.68, 0.62)},
}
"""Table 9."""
LEVELS: Mapping[float, Three] = {
    0.3: (0.28, 0.20, 0.22),
    0.5: (0.38, 0.49, 0.48),
    1.0: (0.41, 0.53, 0.52),
    1.5: (0.42, 0.55, 0.54),
}
"""Table 10, by the largest epsilon."""
OTHERS: Mapping[str, Three] = {
    "SVD": (0.26, 0.34, 0.35),
    "SVD, DP": (0.22, 0.29, 0.31),
    "SVD, their clip": (0.24, 0.32, 0.33),
    "MF": (0.24, 0.21, 0.25),
    "MF, DP": (0.20, 0.18, 0.21),
    "MF, their clip": (0.22, 0.19, 0.23),
    "AE": (0.33, 0.42, 0.45),
    "DPAE": (0.26, 0.36, 0.37),
    "AE, their clip": (0.28, 0.38, 0.41),
}
"""Table 11; DPAE is its autoencoder with plain DP-SGD."""


def printed(grid: Grid) -> Sequence[PrintedTable]:
    """In order."""
    built = [
        row
        for name, (plain, processed, films, films_processed) in CONSTRUCTION.items()
        for row in (
            *_rows(name, {LARGE: plain, FILMS: films}),
            *(_rows(name, {LARGE: processed, FILMS: films_processed}, built=1.0) if name in BUILT else ()),
        )
    ]
    levels = [row for epsilon in grid["epsilon"] for row in _rows("DP-VAE", {HERE: LEVELS[epsilon]}, epsilon=epsilon)]
    return [
        PrintedTable(5, "data sets as they are, and built", built),
        PrintedTable(6, "with and without priors", _all(PRIORS)),
        PrintedTable(7, "constant and optimal clipping bound", _all(CLIPS)),
        PrintedTable(
            8,
            "all models",
            [
                *_all({name: {HERE: numbers} for name, numbers in MODELS.items()}),
                *_all({name: {} for name in OURS}),
            ],
        ),
        PrintedTable(9, "both improvements", _all(BOTH)),
        PrintedTable(10, "over the largest level", [*_rows("VAE, priors", {HERE: MODELS["VAE, priors"]}), *levels]),
        PrintedTable(11, "other models trained so", _all({name: {HERE: numbers} for name, numbers in OTHERS.items()})),
    ]


def _all(numbers: Mapping[str, Mapping[str, Three]]) -> list[PrintedRow]:
    return [row for name, by_data in numbers.items() for row in _rows(name, by_data)]


def _rows(name: str, by_data: Mapping[str, Three], **settings: float) -> list[PrintedRow]:
    said = "".join(f", {setting} {value:g}" for setting, value in settings.items() if setting != "built")
    label = f"{name}{said}" + (", built" if "built" in settings else "")
    return [
        PrintedRow(
            label,
            f"{kind.upper() if kind == 'ndcg' else 'Recall'}@{rank:g}",
            measured(name, kind, rank, **settings),
            {data: three[place] for data, three in by_data.items()},
        )
        for place, (kind, rank) in enumerate(METRICS)
    ]
