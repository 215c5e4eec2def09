"""Which model is fitted on which terms when several of them are compared.

A model that asks a population for sums takes part on all terms that it has a form for; one that asks for nothing does
so once, since its epsilon is 0 whatever is allowed; one that needs the raw ratings only where no privacy is asked for;
and a paper's, whose epsilon is a setting, with each epsilon as what it claims.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.errors import InputError
from discreet.fitting.fit_on import NO_PRIVACY, check_terms
from discreet.fitting.private_forms import asks_for_nothing, has_private_form
from discreet.populations.terms import Terms
from discreet.releases.published import Published, claiming


@dataclass(frozen=True)
class Trial:
    """A model, what it is called, and on what terms it is fitted. ``epsilon`` is what is then said of it."""

    name: str
    model: Any
    terms: Terms = NO_PRIVACY
    epsilon: float | None = None

    @property
    def label(self) -> str:
        """Its name, with the epsilon where there is one."""
        return self.name if self.epsilon is None else f"{self.name}, epsilon {self.epsilon:g}"


def trials_of(models: Mapping[str, Any], terms: Terms | Sequence[Terms]) -> list[Trial]:
    """Every fit that a comparison needs, model by model.

    With one kind of terms every model must be able to keep them. With several, a model takes part in those it can
    keep, and must have at least one.

    >>> import discreet as dc
    >>> models = {"popularity": dc.Popularity(), "mf": dc.MF(), "paper": dc.papers.HybridKNN()}
    >>> [trial.label for trial in trials_of(models, [Terms(epsilon=1.0), Terms()])]
    ['popularity, epsilon 1', 'popularity', 'mf', 'paper, epsilon 1', 'paper']
    """
    if isinstance(terms, Terms):
        for model in models.values():
            check_terms(model, terms)
        return [Trial(name, model, terms, _epsilon(model, terms)) for name, model in models.items()]
    trials = []
    for name, model in models.items():
        found = _trials(name, model, list(dict.fromkeys(terms)))
        if not found:
            raise InputError(
                f"{name} has no private form for what is asked: leave it out, or add Terms() to have it without privacy"
            )
        trials += found
    return trials


def _trials(name: str, model: Any, terms: Sequence[Terms]) -> list[Trial]:
    if isinstance(model, Published):
        return [Trial(name, claiming(model, asked.epsilon), NO_PRIVACY, asked.epsilon) for asked in terms]
    kept = [asked for asked in terms if asked.epsilon is None or has_private_form(model, asked)]
    for asked in kept:
        if asked.epsilon is not None and asks_for_nothing(model, asked):
            return [Trial(name, model, asked, 0.0)]
    return [Trial(name, model, asked, asked.epsilon) for asked in kept]


def _epsilon(model: Any, terms: Terms) -> float | None:
    """What the terms say, or what a paper's own setting claims."""
    return model.epsilon if isinstance(model, Published) else terms.epsilon
