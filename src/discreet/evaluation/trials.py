"""Which model is fitted on which terms when several of them are compared.

a model that asks a population for sums    on all terms that it has a form for, and without privacy
one that needs the raw ratings             only where no privacy is asked for
a paper's, whose epsilon is a setting      with each epsilon as what it claims
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.errors import InputError
from discreet.models.fitting import NO_PRIVACY, check_terms
from discreet.models.private_forms import has_private_form, only_claims, with_claim
from discreet.populations.terms import Terms


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
    trials = [
        trial
        for name, model in models.items()
        for asked in dict.fromkeys(terms)
        if (trial := _trial(name, model, asked)) is not None
    ]
    for name in models:
        if not any(trial.name == name for trial in trials):
            raise InputError(
                f"{name} has no private form for what is asked: leave it out, or add Terms() to have it without privacy"
            )
    return trials


def _trial(name: str, model: Any, terms: Terms) -> Trial | None:
    if only_claims(model):
        return Trial(name, with_claim(model, terms.epsilon), NO_PRIVACY, terms.epsilon)
    if terms.epsilon is None or has_private_form(model, terms):
        return Trial(name, model, terms, terms.epsilon)
    return None


def _epsilon(model: Any, terms: Terms) -> float | None:
    """What the terms say, or what a paper's own setting claims."""
    return getattr(model, "epsilon", None) if only_claims(model) else terms.epsilon
