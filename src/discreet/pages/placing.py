"""Where names can stand beside dots without covering anything."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

LETTER, HEIGHT, DOT, GAP = 7.6, 15.0, 7.0, 3.0  # at most the size of 12-pixel letters, and of a dot's radius
RINGS, STEP, DIRECTIONS = 7, 13.0, 24  # how far from its dot a name is looked for, where there is no room beside it


@dataclass(frozen=True)
class Place:
    """A name stands at ``(x, y)``, the middle of its left end.

    ``line`` leads from the dot to the name (x, y, x, y); it has no length where the name stands beside its dot.
    """

    x: float
    y: float
    line: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)


Box = tuple[float, float, float, float]  # left, top, right, bottom


def place_names(
    names: Sequence[str], dots: Sequence[tuple[float, float]], width: float, height: float
) -> list[Place | None]:
    """For each dot the nearest place where its name is free; None if there is none.

    Beside the dot first: right, left, above, below. Else further away, with a line that leads there. Names with the
    fewest places choose first. Everything is in pixels from the top left corner.

    >>> [round(place.x) for place in place_names(["one", "two"], [(50, 50), (80, 50)], 200, 100)]
    [17, 90]
    """
    marks: list[Box] = [(x - DOT, y - DOT, x + DOT, y + DOT) for x, y in dots]
    taken: list[Box] = list(marks)
    places: list[Place | None] = [None] * len(names)
    lengths = [LETTER * len(name) for name in names]

    def free(number: int, choices: Iterator[Place], *, crossing: bool = False) -> Iterator[Place]:
        others = marks[:number] + marks[number + 1 :] + taken[len(marks) :]
        for place in choices:
            box = _box(place, lengths[number])
            if _is_free(box, others, width, height) and (crossing or _passes(place.line, others)):
                yield place

    crowded = [sum(1 for _ in free(number, _beside(*dots[number], lengths[number]))) for number in range(len(names))]
    for number in sorted(range(len(names)), key=lambda number: crowded[number]):
        x, y = dots[number]
        found = next(free(number, _beside(x, y, lengths[number])), None)
        found = found or next(free(number, _around(x, y, lengths[number])), None)
        # A dot in the middle of others has no way out: better a line across them than no name.
        found = found or next(free(number, _around(x, y, lengths[number]), crossing=True), None)
        places[number] = found
        if found is not None:
            taken.append(_box(found, lengths[number]))
            taken += [(x - GAP, y - GAP, x + GAP, y + GAP) for x, y in _points(found.line)]  # lines do not cross
    return places


def _beside(x: float, y: float, length: float) -> Iterator[Place]:
    aside, beyond = DOT + GAP, DOT + GAP + HEIGHT / 2
    yield Place(x + aside, y)
    yield Place(x - aside - length, y)
    yield Place(x - length / 2, y - beyond)
    yield Place(x - length / 2, y + beyond)


def _around(x: float, y: float, length: float) -> Iterator[Place]:
    """Further and further away; the line ends at the nearest point of the name."""
    for ring in range(1, RINGS + 1):
        away = DOT + GAP + STEP * ring
        for direction in range(DIRECTIONS):
            turn = 2 * math.pi * direction / DIRECTIONS
            end_x, end_y = x + away * math.cos(turn), y + away * math.sin(turn)
            left = end_x + GAP if math.cos(turn) > 0.3 else end_x - length - GAP if math.cos(turn) < -0.3 else None
            if left is None:  # above or below: the line ends under or over the middle of the name
                rise = (HEIGHT / 2) * math.copysign(1, math.sin(turn))
                place = (end_x - length / 2, end_y + rise)
            else:
                place = (left, end_y)
            start_x, start_y = x + DOT * math.cos(turn), y + DOT * math.sin(turn)
            yield Place(*place, line=(start_x, start_y, end_x, end_y))


def _passes(line: tuple[float, float, float, float], taken: Sequence[Box]) -> bool:
    """Whether a line crosses nothing, looked at every few pixels."""
    return not any(a < x < c and b < y < d for x, y in _points(line) for a, b, c, d in taken)


def _points(line: tuple[float, float, float, float]) -> list[tuple[float, float]]:
    x, y, to_x, to_y = line
    steps = int(math.hypot(to_x - x, to_y - y) / 3)
    return [(x + (to_x - x) * step / steps, y + (to_y - y) * step / steps) for step in range(steps + 1) if steps]


def _box(place: Place, length: float) -> Box:
    return (place.x, place.y - HEIGHT / 2, place.x + length, place.y + HEIGHT / 2)


def _is_free(box: Box, taken: Sequence[Box], width: float, height: float) -> bool:
    left, top, right, bottom = box
    if left < 0 or top < 0 or right > width or bottom > height:
        return False
    return all(right <= a or left >= c or bottom <= b or top >= d for a, b, c, d in taken)
