"""What privacy costs a step of an autoencoder: time, beside a plain step and Opacus's, and memory.

    python benchmarks/vae.py            one table: the same network, batch and optimiser, on a processor or a GPU
    python benchmarks/vae.py --epoch    one epoch over ratings of the shape of MovieLens 20M, with the bandwidth reached

Times are the least of several repeats, all taken in turn. On a processor they are processor time, which another load on
the machine disturbs least: run it with one thread (OMP_NUM_THREADS=1), as threads that wait count too. A plain
step is forward, backward and Adam. A private one computes every user's length as well, clips, draws noise and rounds to
the lattice; its noise is a column of its own. On a GPU noise is drawn by the processor, as everywhere.

It needs numpy and torch alone for all but the noise; without the rest of the package the noise column is torch's own
generator, and says so. Opacus is a row where it is installed.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path
from types import ModuleType

import numpy as np
import torch


def kernels() -> tuple[ModuleType, ModuleType]:
    """The two kernel files, from the package or, where its other libraries are missing, on their own."""
    try:
        from discreet.kernels import autoencoder, clipped_gradients
    except ImportError:
        from importlib.util import module_from_spec, spec_from_file_location

        folder, found = Path(__file__).parents[1] / "src" / "discreet" / "kernels", []
        for package in ("discreet", "discreet.kernels"):
            sys.modules[package] = ModuleType(package)
        for name in ("autoencoder", "clipped_gradients"):
            spec = spec_from_file_location(f"discreet.kernels.{name}", folder / f"{name}.py")
            assert spec is not None and spec.loader is not None
            module = module_from_spec(spec)
            sys.modules[spec.name] = module
            spec.loader.exec_module(module)
            found.append(module)
        autoencoder, clipped_gradients = found
    return autoencoder, clipped_gradients


def clock(device: str) -> float:
    """Seconds: of all threads of this process, or on the wall where a GPU works."""
    return time.perf_counter() if device == "cuda" else time.process_time()


NETWORK, CLIPPED = kernels()
CLIP, SIGMA = 0.1, 2.0


def noisy(flat: np.ndarray) -> np.ndarray:
    """The flat sum with noise from the privacy layer; with torch's generator where that cannot be loaded."""
    try:
        from discreet.privacy.randomness import Randomness
        from discreet.privacy.slabs import add_many_gaussians
    except ImportError:
        return flat + torch.randn(len(flat), dtype=torch.float32).numpy() * SIGMA
    global RANDOMNESS
    RANDOMNESS = globals().get("RANDOMNESS") or Randomness()
    return add_many_gaussians(flat, SIGMA, 2.0**-29, RANDOMNESS)


def noise_source() -> str:
    try:
        import discreet.privacy.slabs  # noqa: F401
    except ImportError:
        return "torch.randn (not cryptographic: the package is not installed here)"
    return "ChaCha20 on the lattice, from the privacy layer"


class Step:
    """One network, one batch, and every way of making a step of them."""

    def __init__(self, users: int, items: int, hidden: int, latent: int, rated: int, device: str) -> None:
        rng = np.random.default_rng(0)
        self.sizes = NETWORK.Sizes(items=items, hidden=hidden, latent=latent)
        self.device, self.users = device, users
        own = [np.sort(rng.choice(items, rated, replace=False)) for _ in range(users)]
        indptr, listed = np.arange(users + 1) * rated, np.concatenate(own)
        inputs, targets = np.full(len(listed), rated**-0.5), np.full(len(listed), 1 / rated)
        self.noise = rng.standard_normal((users, latent))
        self.rows = CLIPPED.Rows(indptr, listed, inputs, targets, self.noise)
        self.batch = NETWORK.Batch.of(indptr, listed, inputs, targets, device=device)
        flat = torch.tensor(self.sizes.flat(self.sizes.start(0)), device=device)
        self.flat, self.weights = flat, self.sizes.split(flat)
        self.adam = torch.optim.Adam([flat], lr=1e-3, fused=True)

    def update(self, gradient: torch.Tensor) -> None:
        self.flat.grad = gradient.to(self.device, torch.float32)
        self.adam.step()

    def plain(self) -> dict[str, float]:
        noise = torch.as_tensor(self.noise, dtype=torch.float32, device=self.device)
        passed = NETWORK.run(self.sizes, self.weights, self.batch, beta=0.2, noise=noise)
        found = passed.gradients(torch.full((self.users,), 1 / self.users, device=self.device))
        self.update(torch.cat([found[name].ravel() for name in self.sizes.shapes]))
        return {}

    def summed(self) -> dict[str, float]:
        """The private step without noise: lengths, clipping and the sum, as far as the GPU does it."""
        sums, _ = CLIPPED.clipped_sum(self.sizes, self.weights, self.rows, CLIP, beta=0.2, precision="single")
        self.update(torch.cat([sums[name].ravel() for name in self.sizes.shapes]) / self.users)
        return {}

    def private(self) -> dict[str, float]:
        sums, _ = CLIPPED.clipped_sum(
            self.sizes, self.weights, self.rows, CLIP, beta=0.2, precision="single" if self.users <= 4096 else "mixed"
        )
        flat = torch.cat([sums[name].ravel() for name in self.sizes.shapes]).cpu().numpy()
        start = clock(self.device)
        answer = noisy(flat)
        seconds = clock(self.device) - start
        self.update(torch.from_numpy(answer).div_(self.users))
        return {"noise": seconds}


class OpacusStep:
    """The same network as a torch module, dense input, in Opacus's ghost mode or with its hooks."""

    def __init__(self, step: Step, mode: str) -> None:
        from opacus.grad_sample import GradSampleModule, GradSampleModuleFastGradientClipping
        from opacus.optimizers import DPOptimizer, DPOptimizerFastGradientClipping
        from torch import nn

        sizes, self.step, self.mode = step.sizes, step, mode
        self.dense = torch.zeros((step.users, sizes.items), device=step.device)
        self.dense[step.batch.users, step.batch.items] = step.batch.inputs
        self.targets = torch.zeros_like(self.dense)
        self.targets[step.batch.users, step.batch.items] = step.batch.targets
        layers = [nn.Linear(sizes.items, sizes.hidden), nn.Tanh(), nn.Linear(sizes.hidden, sizes.latent)]
        layers += [nn.Linear(sizes.latent, sizes.hidden), nn.Tanh(), nn.Linear(sizes.hidden, sizes.items)]
        plain = nn.Sequential(*layers).to(step.device)
        ghost = mode == "ghost"
        if ghost:
            self.model = GradSampleModuleFastGradientClipping(plain, max_grad_norm=CLIP, use_ghost_clipping=True)
        else:
            self.model = GradSampleModule(plain)
        inner = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        kind = DPOptimizerFastGradientClipping if ghost else DPOptimizer
        self.optimizer = kind(inner, noise_multiplier=SIGMA, max_grad_norm=CLIP, expected_batch_size=step.users)

    def run(self) -> dict[str, float]:
        def losses() -> torch.Tensor:
            return -(self.targets * torch.log_softmax(self.model(self.dense), dim=1)).sum(dim=1)

        self.optimizer.zero_grad()
        if self.mode == "ghost":
            own = losses()
            own.mean().backward(retain_graph=True)
            self.optimizer.zero_grad()
            factors = self.model.get_clipping_coef()
            self.model.disable_hooks()
            (factors * own).sum().backward()
            self.model.enable_hooks()
        else:
            losses().mean().backward()
        self.optimizer.step()
        return {}


def timed(makers: dict[str, object], device: str, repeats: int) -> dict[str, tuple[float, float]]:
    """The least seconds of each, and of its noise; all in turn."""
    best = {name: (float("inf"), 0.0) for name in makers}
    for repeat in range(repeats + 1):
        for name, make in makers.items():
            if device == "cuda":
                torch.cuda.synchronize()
            start = clock(device)
            extra = make()  # type: ignore[operator]
            if device == "cuda":
                torch.cuda.synchronize()
            seconds = clock(device) - start
            if repeat and seconds < best[name][0]:
                best[name] = (seconds, extra.get("noise", 0.0))
    return best


def table(device: str, repeats: int, batches: list[int], items: int) -> None:
    print(f"{items:,} items, hidden 100, latent 30, 100 ratings a user, {device}; noise: {noise_source()}\n")
    print("| users in a step | step | ms | of it noise | ÷ plain | ÷ plain without noise |\n" + "|---" * 6 + "|")
    for users in batches:
        step = Step(users, items, 100, 30, 100, device)
        makers: dict[str, object] = {"plain": step.plain, "private": step.private, "clipped, no noise": step.summed}
        for mode in ("ghost", "hooks"):
            needed = users * step.sizes.parameters * 4 * 2
            if mode == "hooks" and needed > 6e9 and device == "cpu":
                continue
            try:
                makers[f"Opacus, {mode}"] = OpacusStep(step, mode).run
            except ImportError:
                break
        found = timed(makers, device, repeats)
        base = found["plain"][0]
        for name, (seconds, noise) in found.items():
            ratio = f"{seconds / base:.2f} | {(seconds - noise) / base:.2f}"
            print(f"| {users:,} | {name} | {seconds * 1e3:.0f} | {noise * 1e3:.0f} | {ratio} |", flush=True)
        del step, makers


def epoch(device: str) -> None:
    """138,493 users, 26,744 items and 20 million ratings, as MovieLens 20M has; plain steps over all users."""
    users, items, ratings, batch = 138_493, 26_744, 20_000_263, 2048
    rng = np.random.default_rng(0)
    lengths = np.maximum(rng.lognormal(4.2, 1.1, users), 20)
    lengths = np.minimum(lengths * ratings / lengths.sum(), 5000).astype(np.int64)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    listed = np.minimum(rng.pareto(0.6, int(indptr[-1])) * 20, items - 1).astype(np.int64)
    sizes = NETWORK.Sizes(items=items, hidden=100, latent=30)
    flat = torch.tensor(sizes.flat(sizes.start(0)), device=device)
    weights, adam = sizes.split(flat), torch.optim.Adam([flat], lr=1e-3, fused=True)
    torch.cuda.synchronize() if device == "cuda" else None
    start = time.perf_counter()
    for first in range(0, users, batch):
        own = indptr[first : first + batch + 1]
        rows = listed[own[0] : own[-1]]
        values = np.repeat(np.maximum(np.diff(own), 1) ** -0.5, np.diff(own))
        some = NETWORK.Batch.of(own - own[0], rows, values, np.ones(len(rows)), device=device)
        noise = torch.randn((some.n_users, 30), device=device)
        found = NETWORK.run(sizes, weights, some, beta=0.2, noise=noise).gradients(
            torch.full((some.n_users,), 1 / some.n_users, device=device)
        )
        flat.grad = torch.cat([found[name].ravel() for name in sizes.shapes])
        adam.step()
    torch.cuda.synchronize() if device == "cuda" else None
    seconds = time.perf_counter() - start
    flops = 3 * 2 * users * items * 100
    # Passes over users × items floats: one product writes, exp, sum and scale read and write, two products read.
    traffic = users * items * 4 * 10
    print(
        f"{len(listed):,} ratings, one epoch on {device}: {seconds:.2f} s, {flops / seconds / 1e12:.2f} Tflop/s, "
        f"{traffic / seconds / 1e9:.0f} GB/s over the logits"
    )
    if device == "cuda":
        size = 1 << 28
        one, other = torch.empty(size, device=device), torch.ones(size, device=device)
        one.copy_(other)
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(10):
            one.copy_(other)
        torch.cuda.synchronize()
        peak = 10 * 8 * size / (time.perf_counter() - begin)
        print(f"a copy reaches {peak / 1e9:.0f} GB/s: the epoch {traffic / seconds / peak:.0%} of it")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epoch", action="store_true")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--batches", type=int, nargs="*", default=[512, 2048])
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # Opacus has several, none of which matters here
    where = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cuda.matmul.allow_tf32 = False
    with torch.no_grad() if arguments.epoch else torch.enable_grad():
        epoch(where) if arguments.epoch else table(where, arguments.repeats, arguments.batches, arguments.items)
