"""What is shown of ratings, printed and in a notebook: how many of what there are. No user, and no rating."""

from typing import TYPE_CHECKING

from discreet import markup
from discreet.data.labels import counted

if TYPE_CHECKING:
    from discreet.data.ratings import Ratings


def plain_view(ratings: "Ratings") -> str:
    """Sizes and scale in a line."""
    sizes = counted(len(ratings), "rating"), counted(ratings.n_users, "user"), counted(ratings.n_items, "item")
    return f"Ratings({', '.join(sizes)}, scale {ratings.catalogue.scale})"


def notebook_view(ratings: "Ratings") -> str:
    """The same as a table."""
    return markup.box(
        markup.title("Ratings"),
        markup.facts(
            [
                ("ratings", f"{len(ratings):,}"),
                ("users", f"{ratings.n_users:,}"),
                ("items", f"{ratings.n_items:,}"),
                ("scale", str(ratings.catalogue.scale)),
            ]
        ),
    )
