"""Cases and grids: what is run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product


@dataclass(frozen=True, init=False)
class Case:
    """One setting of one method. A repetition measures it, and gives a number for each way to read what came out.

    >>> Case("hybrid", gamma=0.5, epsilon=1.0)
    Case('hybrid', gamma=0.5, epsilon=1.0)
    >>> Case("RP", gamma=0.5, epsilon=None) == Case("RP", gamma=0.5)
    True
    >>> Case("hybrid", gamma=0.5, epsilon=1.0).setting
    'gamma 0.5 and epsilon 1'
    """

    method: str
    settings: tuple[tuple[str, float], ...]

    def __init__(self, method: str, **settings: float | None) -> None:
        object.__setattr__(self, "method", method)
        given = tuple((name, float(value)) for name, value in settings.items() if value is not None)
        object.__setattr__(self, "settings", given)

    def get(self, name: str) -> float | None:
        """A setting, or None where the method has it not."""
        return dict(self.settings).get(name)

    def __getitem__(self, name: str) -> float:
        """A setting that is there."""
        return dict(self.settings)[name]

    @property
    def setting(self) -> str:
        """In words; the method where it has no settings."""
        return " and ".join(f"{name} {value:g}" for name, value in self.settings) or self.method

    def __repr__(self) -> str:
        return f"Case({', '.join([repr(self.method), *(f'{name}={value!r}' for name, value in self.settings)])})"


@dataclass(frozen=True, init=False)
class Grid:
    """Which values of each setting are tried.

    >>> grid = Grid(gamma=(0.5, 3.5), epsilon=(0.1, 1.0))
    >>> grid["gamma"]
    (0.5, 3.5)
    >>> grid.cases("hybrid", "gamma", epsilon=1.0)
    [Case('hybrid', gamma=0.5, epsilon=1.0), Case('hybrid', gamma=3.5, epsilon=1.0)]
    """

    axes: Mapping[str, tuple[float, ...]]

    def __init__(self, **axes: Sequence[float]) -> None:
        object.__setattr__(self, "axes", {name: tuple(map(float, values)) for name, values in axes.items()})

    def __getitem__(self, name: str) -> tuple[float, ...]:
        """The values of one setting, in order."""
        return self.axes[name]

    def cases(self, method: str, *names: str, **fixed: float) -> list[Case]:
        """A method with every combination of these settings, others fixed; settings are in the order of the grid."""
        values = [self[name] if name in names else (fixed[name],) for name in self.axes if name in {*names, *fixed}]
        chosen = [name for name in self.axes if name in {*names, *fixed}]
        return [Case(method, **dict(zip(chosen, given, strict=True))) for given in product(*values)]
