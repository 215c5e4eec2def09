"""A population seen through something: a rehearsal, a recording, a part of it."""

from collections.abc import Iterable

from discreet.data.catalogue import Catalogue
from discreet.looks import Look, Looks, Reading
from discreet.populations.population import Population
from discreet.privacy.spend import Spend
from discreet.privacy.unit import Unit


class Around:
    """Passes on what is public about a population, and every look that was booked."""

    def __init__(self, population: Population) -> None:
        self._population = population

    @property
    def catalogue(self) -> Catalogue:
        """The public items."""
        return self._population.catalogue

    @property
    def unit(self) -> Unit | None:
        """Whose secret is kept."""
        return self._population.unit

    @property
    def spends(self) -> tuple[Spend, ...]:
        """Every look that was booked."""
        return self._population.spends

    @property
    def unpaid_looks(self) -> Iterable[Look]:
        """What was looked at without paying."""
        return self._population.unpaid_looks

    @property
    def log(self) -> Looks:
        """Where further unpaid looks are written down."""
        return self._population.log

    @property
    def reading(self) -> Reading:
        """How these ratings were read."""
        return self._population.reading

    @property
    def answered(self) -> tuple[tuple[int, ...], ...] | None:
        """The shapes of all sums so far; None where nobody wrote them down."""
        return getattr(self._population, "answered", None)


def innermost(population: Population) -> Population:
    """The population itself, whatever stands around it."""
    while isinstance(population, Around):
        population = population._population
    return population
