"""The paper's Figure 3. It has no values, so what stands beside ours is what its text says."""

from collections.abc import Sequence

from discreet.papers.dp_vae.experiment import measured
from discreet.papers.dp_vae.printed import MODELS
from discreet.papers.frame.cases import Grid
from discreet.papers.frame.figures import Axis, Curve, Figure

READINGS = {
    "masked": "training items masked",
    "training": "training items count",
    "unmasked": "not masked, test items count",
    "users": "Mult-VAE's protocol",
}
"""What pages call them."""
OURS = {"ours: EASE": "EASE", "ours: Almanac, proven": "Almanac, proven", "ours: popularity": "popularity"}


def figures(grid: Grid) -> Sequence[Figure]:
    """In order."""

    def curves(kind: str, reading: str) -> dict[str, Curve]:
        named = {name: name for name in MODELS} | OURS
        return {
            title: Curve([measured(name, kind, rank) for rank in grid["rank"]], reading)
            for title, name in named.items()
        }

    return [
        Figure(
            3,
            "NDCG@R, training items masked",
            "The paper: DP-VAE is better than all but VAE, KNN and SVD slightly better at R = 10 alone.",
            curves("ndcg", "masked"),
            Axis("ndcg", "R"),
            "NDCG@R",
        ),
        Figure(
            3,
            "Recall@R, training items masked",
            "The paper: DP-VAE is better than all but VAE at every R.",
            curves("recall", "masked"),
            Axis("recall", "R"),
            "Recall@R",
            part="recall",
        ),
        Figure(
            3,
            "Recall@R, training items count",
            "Only if training items are to be found again is Recall@20 above Recall@50, as in the paper's tables.",
            curves("recall", "training"),
            Axis("recall", "R"),
            "Recall@R",
            part="training",
        ),
    ]
