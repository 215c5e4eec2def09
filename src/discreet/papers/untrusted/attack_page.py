"""What the attacks found, as rows and as a page."""

from pathlib import Path

from discreet.pages.curves import Rows
from discreet.pages.page import Facts, Text, write_page
from discreet.papers.untrusted.attacks import Attacked, Attacks

COLUMNS = ("attack", "how", "outcome", "error in stars")


def cells(row: Attacked) -> list[str]:
    """One attack as text."""
    error = "" if row.error is None or row.largest is None else f"mean {row.error:.2g}, largest {row.largest:.2g}"
    return [row.attack, row.how, row.outcome, error]


def write_attacks(found: Attacks, path: Path, command: str = "") -> None:
    """The attacks as one page, and the command to do it again."""
    of = {name: [row for row in found.rows if row.protocol == name] for name in ("published", "sound")}
    broken = {name: f"{sum(row.succeeds for row in rows)} of {len(rows)}" for name, rows in of.items()}
    write_page(
        path,
        title="Attacks on an untrusted recommender",
        lead=" ".join(found.sentences()),
        sections=[
            Facts(
                facts={
                    "published: attacks that succeed": broken["published"],
                    "sound: attacks that succeed": broken["sound"],
                    "claimed epsilon": f"{found.epsilon:g}",
                    "users attacked": str(found.victims),
                    "data": found.data,
                }
            ),
            *(
                Rows(
                    title=title,
                    columns=COLUMNS,
                    rows=[cells(row) for row in of[name]],
                    text=text,
                )
                for name, title, text in (
                    (
                        "published",
                        "The published protocol",
                        "Users believe the H, the k, the item vectors and the group that the recommender names. A "
                        "rating that is off by less than half a star counts as recovered.",
                    ),
                    (
                        "sound",
                        "The sound protocol",
                        "Users answer only what their own copy of the model asks, with noise that they agreed to; the "
                        "third party adds noise and takes no small groups. Where nothing is refused, the recommender "
                        "has all other users on its side and still sees noise.",
                    ),
                )
            ),
            Text(
                title="What this says, and what it does not",
                paragraphs=(
                    "An attack that succeeds refutes the claim. One that fails proves nothing; what is proven of the "
                    "sound protocol is in the docstrings of discreet.protocol.",
                    "No rating that was recovered is shown or kept: only how many there are, and how far off.",
                ),
            ),
            *([Text(title="Do it again", code=command)] if command else []),
        ],
    )
