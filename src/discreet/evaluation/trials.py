"""Which model is fitted on which terms when several of them are compared.

A model that asks a population for sums takes part on all terms that it has a form for; one that asks for nothing does
so once, since its epsilon is 0 whatever is allowed; one that needs the raw ratings only where no privacy is asked for;
and a paper's, whose epsilon is a setting, with each epsilon as what it claims. What ``auto`` stands for is chosen anew
for each of the terms, as a fit on them chooses it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.errors import InputError
from discreet.fitting.fit_on import NO_PRIVACY, check_terms
from discreet.fitting.private_forms import asks_for_nothing, has_private_form
from discreet.populations.terms import Terms
from discreet.releases.published import Published, claiming

AUTO = "auto"
"""In place of a model: what the rule of :mod:`discreet.fitting.choosing` chooses."""
Rule = Callable[[Terms], tuple[Any, str]]


@dataclass(frozen=True)
class Trial:
    """A model, what it is called, and on what terms it is fitted. ``epsilon`` is what is then said of it.

    ``reason`` says why a rule chose it; it is empty where it was named.
    """

    name: str
    model: Any
    terms: Terms = NO_PRIVACY
    epsilon: float | None = None
    reason: str = ""

    @property
    def label(self) -> str:
        """Its name, with the epsilon where there is one."""
        return self.name if self.epsilon is None else f"{self.name}, epsilon {self.epsilon:g}"


def is_auto(model: Any) -> bool:
    """Whether a rule is to choose the model."""
    return isinstance(model, str) and model == AUTO


def trials_of(models: Mapping[str, Any], terms: Terms | Sequence[Terms], rule: Rule | None = None) -> list[Trial]:
    """Every fit that a comparison needs, model by model; ``rule`` chooses what :data:`AUTO` stands for.

    With one kind of terms every model must be able to keep them. With several, a model takes part in those it can
    keep, and must have at least one.

    >>> import discreet as dc
    >>> models = {"popularity": dc.Popularity(), "mf": dc.MF(), "paper": dc.papers.HybridKNN()}
    >>> [trial.label for trial in trials_of(models, [Terms(epsilon=1.0), Terms()])]
    ['popularity, epsilon 1', 'popularity', 'mf', 'paper, epsilon 1', 'paper']
    """
    if isinstance(terms, Terms):
        chosen = {name: rule(terms) if rule and is_auto(model) else (model, "") for name, model in models.items()}
        for model, _ in chosen.values():
            check_terms(model, terms)
        return [Trial(name, model, terms, _epsilon(model, terms), reason) for name, (model, reason) in chosen.items()]
    trials, asked = [], list(dict.fromkeys(terms))
    for name, model in models.items():
        found = _chosen(name, rule, asked) if rule and is_auto(model) else _trials(name, model, asked)
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


def _chosen(name: str, rule: Rule, terms: Sequence[Terms]) -> list[Trial]:
    """A trial for each of the terms, also where nothing is asked for: what is compared is what a fit on them gives."""
    found = []
    for asked in terms:
        model, reason = rule(asked)
        if asked.epsilon is None or has_private_form(model, asked):
            found.append(Trial(name, model, asked, asked.epsilon, reason))
    return found


def _epsilon(model: Any, terms: Terms) -> float | None:
    """What the terms say, or what a paper's own setting claims."""
    return model.epsilon if isinstance(model, Published) else terms.epsilon
