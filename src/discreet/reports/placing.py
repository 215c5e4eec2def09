"""Where names can stand beside dots without covering anything."""

from collections.abc import Sequence
from dataclasses import dataclass

LETTER, HEIGHT, DOT, GAP = 6.6, 15.0, 7.0, 3.0  # about the size of 12-pixel letters, and of a dot's radius


@dataclass(frozen=True)
class Place:
    """A name stands at ``(x, y)``, the middle of its left end."""

    x: float
    y: float


Box = tuple[float, float, float, float]  # left, top, right, bottom


def place_names(
    names: Sequence[str], dots: Sequence[tuple[float, float]], width: float, height: float
) -> list[Place | None]:
    """For each dot the first of right, left, above, below where its name is free; None if none is.

    Earlier names choose first. Everything is in pixels from the top left corner.

    >>> place_names(["first", "second"], [(50, 50), (80, 50)], 200, 100)
    [Place(x=7.0, y=50), Place(x=90.0, y=50)]
    """
    taken: list[Box] = [(x - DOT, y - DOT, x + DOT, y + DOT) for x, y in dots]
    places: list[Place | None] = []
    for number, (name, (x, y)) in enumerate(zip(names, dots, strict=True)):
        length = LETTER * len(name)
        aside, beyond = DOT + GAP, DOT + GAP + HEIGHT / 2
        choices = [
            Place(x + aside, y),
            Place(x - aside - length, y),
            Place(x - length / 2, y - beyond),
            Place(x - length / 2, y + beyond),
        ]
        others = taken[:number] + taken[number + 1 :]
        free = (place for place in choices if _is_free(_box(place, length), others, width, height))
        place = next(free, None)
        places.append(place)
        if place is not None:
            taken.append(_box(place, length))
    return places


def _box(place: Place, length: float) -> Box:
    return (place.x, place.y - HEIGHT / 2, place.x + length, place.y + HEIGHT / 2)


def _is_free(box: Box, taken: Sequence[Box], width: float, height: float) -> bool:
    left, top, right, bottom = box
    if left < 0 or top < 0 or right > width or bottom > height:
        return False
    return all(right <= a or left >= c or bottom <= b or top >= d for a, b, c, d in taken)
