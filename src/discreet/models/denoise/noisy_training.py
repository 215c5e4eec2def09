"""Learning the weights of a network from noisy sums of clipped gradients, with checkpoints.

    mean gradient  =  noisy sum / (a · divisor)          the divisor is public: the sampling rate times the audience
    weights        ←  weights − learning rate · Adam(mean gradient)
    C              ←  C · exp(−0.2 (noisy share of users that were not clipped − quantile))       if it is to follow

What comes out is the mean of the weights over the last steps, in which the noise of single steps averages out.

**Checkpoints.** A checkpoint holds the weights, Adam's means and the clip after some step: a function of noisy sums
that were paid for, and of nothing else. To go on from it a fit asks the same questions again, and books them in its own
ledger; of the steps it draws those that are left, and the popularity that it is told again is not used. So the release
is made of as many draws as the ledger lists, and a budget that knows the run by its name (``run_id``) pays once. A step
that was interrupted was seen by nobody.
"""

import dataclasses
import io
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import InputError
from discreet.files import write_whole
from discreet.kernels.autoencoder import Arrays, best_device, load_torch
from discreet.models.sums.network_gradient import NetworkGradient
from discreet.populations.around import innermost
from discreet.populations.population import Population
from discreet.types import AnyArray, Progress, no_progress


@dataclass(frozen=True, eq=False)
class NoisyTraining:
    """How noisy sums become weights.

    Parameters
    ----------
    gradient
        What is asked for.
    divisor
        About how many users are in a step. Public.
    clip, quantile
        C at the start; and which share of users it should leave alone, None for a clip that stays.
    learning_rate
        Of Adam.
    averaged
        Over which share of the steps, the last ones, weights are averaged.
    """

    gradient: NetworkGradient
    divisor: float
    clip: float
    learning_rate: float
    quantile: float | None = None
    averaged: float = 0.2

    def learn(
        self,
        population: Population,
        share: float,
        start: Arrays,
        progress: Progress = no_progress,
        checkpoint: Path | None = None,
        about: dict[str, Any] | None = None,
    ) -> Arrays:
        """The weights, from so many steps; ``about`` says which fit a checkpoint belongs to."""
        steps = self.gradient.steps
        drawn = population.steps(self.gradient.asked, share)
        stays = drawn.stays_on_device and self.gradient.stays_on_device
        state = _State.of(self, start, best_device() if stays else "cpu")
        about = {**(about or {}), "looks": [_line(spend) for spend in population.spends]}
        if checkpoint is not None and checkpoint.exists():
            state.restore(checkpoint, about)
        spent = _epsilon_so_far(population, steps) if progress is not no_progress else None
        whole = True
        try:
            while state.done < steps:
                known = state.tensors() if stays else state.arrays()
                asked = self.gradient.contribution(known, state.clip, state.done)
                noisy = drawn.sum_on_device(asked) if stays else drawn.sum(asked)
                whole = False
                state.step(noisy)
                whole = True
                if checkpoint is not None and state.done % max(1, steps // 20) == 0:
                    state.save(checkpoint, about)
                progress(state.done, steps, "steps" if spent is None else f"steps, {spent(state.done)}")
        except KeyboardInterrupt:
            if checkpoint is not None and whole:
                state.save(checkpoint, about)
            raise
        return state.averages()


class _State:
    """Everything that changes from step to step, on the device where sums are answered."""

    def __init__(self, how: NoisyTraining, known: Arrays, flat: AnyArray, device: str) -> None:
        torch = load_torch()
        self.how, self.known = how, known
        self.clip, self.done, self.counted = how.clip, 0, 0
        self.weights = torch.tensor(flat, device=device)
        self.fixed = {name: torch.tensor(known[name], device=device) for name in how.gradient.fixed}
        self.mean = torch.zeros_like(self.weights)
        self.adam = torch.optim.Adam([self.weights], lr=how.learning_rate, betas=(0.9, 0.99), fused=True)

    @classmethod
    def of(cls, how: NoisyTraining, start: Arrays, device: str = "cpu") -> "_State":
        flat = np.concatenate([np.ravel(start[name]) for name in how.gradient.learned]).astype(np.float32)
        return cls(how, start, flat, device)

    def step(self, noisy: Any) -> None:
        torch, how = load_torch(), self.how
        size, scale = len(self.weights), (1 - how.gradient.counted**2) ** 0.5
        self.weights.grad = torch.as_tensor(noisy[:size]).to(torch.float32).div_(scale * how.divisor)
        self.adam.step()
        if how.quantile is not None:
            share = 0.5 + float(noisy[size]) / (2 * how.gradient.counted * how.divisor)
            self.clip *= float(np.exp(-0.2 * (min(max(share, 0.0), 1.0) - how.quantile)))
        self.done += 1
        if self.done > (1 - how.averaged) * how.gradient.steps:
            self.mean += self.weights
            self.counted += 1

    def arrays(self) -> Arrays:
        return self._split(self.weights.cpu().numpy().copy(), self.known)

    def tensors(self) -> dict[str, Any]:
        """Where they are, and no copies: they are read before the next step changes them."""
        return self._split(self.weights, self.fixed)

    def averages(self) -> Arrays:
        if not self.counted:
            return self.arrays()
        return self._split((self.mean / self.counted).cpu().numpy(), self.known)

    def _split(self, flat: Any, known: dict[str, Any]) -> dict[str, Any]:
        found, first = dict(known), 0
        for name, shape in self.how.gradient.learned.items():
            size = int(np.prod(shape))
            found[name] = flat[first : first + size].reshape(shape)
            first += size
        return found

    # ── Checkpoints ──

    def save(self, path: Path, about: dict[str, Any]) -> None:
        moments = self.adam.state.get(self.weights, {})
        nothing = np.zeros(len(self.weights), dtype=np.float32)
        held: dict[str, Any] = {
            "about": np.array(json.dumps(about, sort_keys=True)),
            "numbers": np.array([self.clip, self.done, self.counted, float(moments.get("step", 0.0))]),
            "weights": self.weights.cpu().numpy(),
            "mean": self.mean.cpu().numpy(),
            "first": moments["exp_avg"].cpu().numpy() if moments else nothing,
            "second": moments["exp_avg_sq"].cpu().numpy() if moments else nothing,
        }
        held.update({f"known_{name}": self.known[name] for name in self.how.gradient.fixed})
        content = io.BytesIO()
        np.savez(content, **held)
        write_whole(path, content.getvalue(), private=True)

    def restore(self, path: Path, about: dict[str, Any]) -> None:
        torch = load_torch()
        try:
            with np.load(path, allow_pickle=False) as file:
                held = {name: file[name] for name in file.files}
            same = json.loads(str(held["about"])) == json.loads(json.dumps(about))
            clip, done, counted, steps = held["numbers"].tolist()
            fits = all(held[name].shape == tuple(self.weights.shape) for name in ("weights", "mean", "first", "second"))
        except (OSError, ValueError, KeyError, TypeError):
            raise InputError(f"{path} is no checkpoint of an autoencoder: name another file, or remove it") from None
        if not (same and fits and 0 < done <= self.how.gradient.steps):
            raise InputError(
                f"{path} is the checkpoint of another fit: of other settings, another catalogue or another budget; "
                "name another file, or remove it"
            )
        self.clip, self.done, self.counted = clip, int(done), int(counted)
        own = {name: held[f"known_{name}"] for name in self.how.gradient.fixed}
        device = self.weights.device
        self.known = {**self.known, **own}
        self.fixed = {name: torch.tensor(array, device=device) for name, array in own.items()}
        self.weights.copy_(torch.from_numpy(held["weights"]))
        self.mean.copy_(torch.from_numpy(held["mean"]))
        self.adam.state[self.weights] = {
            "step": torch.tensor(steps, device=device),
            "exp_avg": torch.tensor(held["first"], device=device),
            "exp_avg_sq": torch.tensor(held["second"], device=device),
        }


def _line(spend: Any) -> dict[str, Any]:
    """A line of the ledger, as far as it decides how much noise there is."""
    kept = ("what", "mechanism", "sensitivity", "scale", "sampling_rate", "times", "seeded")
    values = dataclasses.asdict(spend)
    return {name: values[name] for name in kept}


def _epsilon_so_far(population: Population, steps: int) -> Callable[[int], str] | None:
    """What all looks cost once so many steps are drawn, in words; None where nothing is hidden."""
    ledger = getattr(innermost(population), "ledger", None)
    if ledger is None or not population.spends:
        return None
    from discreet.privacy.accounting import epsilon_of

    *before, last = population.spends
    known: dict[int, str] = {}

    def spent(done: int) -> str:
        # Worked out ten times in a fit: it takes a moment where users are sampled.
        mark = done if done == steps else done - done % max(1, steps // 10)
        if mark not in known:
            looks = [*before, *([replace(last, times=mark)] if mark else [])]
            epsilon = epsilon_of(looks, ledger.delta) if looks else 0.0
            known[mark] = f"epsilon {epsilon:.2f} after {mark}"
        return known[mark]

    return spent
