"""What privacy costs a step of an autoencoder: time, beside a plain step and Opacus's, and memory.

    python benchmarks/vae.py            one table: the same network, batch and optimiser, on a processor or a GPU
    python benchmarks/vae.py --epoch    one epoch over ratings of the shape of MovieLens 20M on a GPU, plain and private
                                        steps, with the fraction of peak bandwidth and arithmetic reached

Times are the least of several repeats, all taken in turn. On a processor they are processor time, which another load on
the machine disturbs least: run it with one thread (OMP_NUM_THREADS=1), as threads that wait count too. A plain
step is forward, backward and Adam. A private one computes every user's length as well, clips, adds up in double
precision, draws noise and rounds to the lattice. On a GPU everything stays there, the noise too; both steps find their
batch there, and both are played from a graph. What noise takes is measured by itself; on a GPU it is made while the
passes wait for memory.

Opacus is a row where it is installed. On a GPU it ends with 1 if a private step over 2,000 users or more takes more
than 1.3 times a plain one.
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))
from discreet.kernels import autoencoder, clipped_gradients
from discreet.kernels.gpu_gradients import GraphedSum, captured
from discreet.privacy.randomness import Randomness
from discreet.privacy.slabs import NoiseOnDevice, add_many_gaussians


def clock(device: str) -> float:
    """Seconds: of all threads of this process, or on the wall where a GPU works."""
    return time.perf_counter() if device == "cuda" else time.process_time()


CLIP, SIGMA, GRID, BAR = 0.1, 2.0, 2.0**-29, 1.3
RANDOMNESS = Randomness()


class Step:
    """One network, one batch, and every way of making a step of them."""

    def __init__(self, users: int, items: int, hidden: int, latent: int, rated: int, device: str) -> None:
        rng = np.random.default_rng(0)
        self.sizes = autoencoder.Sizes(items=items, hidden=hidden, latent=latent)
        self.device, self.users = device, users
        own = [np.sort(rng.choice(items, rated, replace=False)) for _ in range(users)]
        indptr, listed = np.arange(users + 1) * rated, np.concatenate(own)
        inputs, targets = np.full(len(listed), rated**-0.5), np.full(len(listed), 1 / rated)
        self.noise = rng.standard_normal((users, latent))
        self.code_noise = torch.as_tensor(self.noise, dtype=torch.float32, device=device)
        self.rows = clipped_gradients.Rows(indptr, listed, inputs, targets, self.noise)
        self.batch = autoencoder.Batch.of(indptr, listed, inputs, targets, device=device)
        flat = torch.tensor(self.sizes.flat(self.sizes.start(0)), device=device)
        self.flat, self.weights = flat, self.sizes.split(flat)
        self.adam = torch.optim.Adam([flat], lr=1e-3, fused=True)
        if device == "cuda":
            self.plain_gradient, self.plain_graph = captured(self.gradient)
            self.private_graph = GraphedSum(self.sizes, (), users, len(listed), beta=0.2, weights=self.weights)

    def update(self, gradient: torch.Tensor) -> None:
        self.flat.grad = gradient.to(self.device, torch.float32)
        self.adam.step()

    def plain(self) -> dict[str, float]:
        if self.device == "cuda":
            self.plain_graph.replay()
            self.update(self.plain_gradient)
        else:
            self.update(self.gradient())
        return {}

    def gradient(self) -> torch.Tensor:
        passed = autoencoder.run(self.sizes, self.weights, self.batch, beta=0.2, noise=self.code_noise)
        found = passed.gradients(torch.full((self.users,), 1 / self.users, device=self.device))
        return torch.cat([found[name].ravel() for name in self.sizes.shapes])

    def summed(self) -> dict[str, float]:
        """The private step without noise: lengths, clipping and the sum."""
        self.update(self.total() / self.users)
        return {}

    def total(self) -> torch.Tensor:
        if self.device == "cuda":
            return self.private_graph.play(self.weights, self.batch, self.code_noise, CLIP)
        precision = "single" if self.users <= 4096 else "mixed"
        sums, _ = clipped_gradients.clipped_sum(
            self.sizes, self.weights, self.rows, CLIP, beta=0.2, precision=precision
        )
        return torch.cat([sums[name].ravel() for name in self.sizes.shapes])

    def private(self) -> dict[str, float]:
        if self.device == "cuda":
            noise = NoiseOnDevice(SIGMA, GRID, len(self.flat), RANDOMNESS, self.device)
            self.update(noise.add_to(self.total(), self.users, single=True))
            return {}
        flat = self.total().numpy()
        start = clock(self.device)
        answer = add_many_gaussians(flat, SIGMA, GRID, RANDOMNESS)
        seconds = clock(self.device) - start
        self.update(torch.from_numpy(answer).div_(self.users))
        return {"noise": seconds}

    def noise_alone(self) -> dict[str, float]:
        NoiseOnDevice(SIGMA, GRID, len(self.flat), RANDOMNESS, self.device).integers()
        return {}


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
    several = 20 if device == "cuda" else 1  # a GPU is given several steps before it is waited for
    for repeat in range(repeats + 1):
        for name, make in makers.items():
            if device == "cuda":
                torch.cuda.synchronize()
            start = clock(device)
            for _ in range(several):
                extra = make()  # type: ignore[operator]
            if device == "cuda":
                torch.cuda.synchronize()
            seconds = (clock(device) - start) / several
            if repeat and seconds < best[name][0]:
                best[name] = (seconds, extra.get("noise", 0.0))
    return best


def table(device: str, repeats: int, batches: list[int], items: int) -> int:
    missed = 0
    print(f"{items:,} items, hidden 100, latent 30, 100 ratings a user, {where_it_runs(device)}\n")
    print("| users in a step | step | ms | of it noise | ÷ plain |\n" + "|---" * 5 + "|")
    for users in batches:
        step = Step(users, items, 100, 30, 100, device)
        makers: dict[str, object] = {"plain": step.plain, "private": step.private, "clipped, no noise": step.summed}
        if device == "cuda":
            makers["noise alone"] = step.noise_alone
        for mode in ("ghost", "hooks"):
            needed = users * step.sizes.parameters * 4 * 2
            if mode == "hooks" and needed > (6e9 if device == "cpu" else 60e9):
                continue
            try:
                makers[f"Opacus, {mode}"] = OpacusStep(step, mode).run
            except ImportError:
                break
        found = timed(makers, device, repeats)
        base = found["plain"][0]
        if device == "cuda" and users >= 2000:
            missed += found["private"][0] > BAR * base
        for name, (seconds, noise) in found.items():
            print(
                f"| {users:,} | {name} | {seconds * 1e3:.2f} | {noise * 1e3:.0f} | {seconds / base:.2f} |", flush=True
            )
        del step, makers
    if device == "cuda":
        words = "MISSED" if missed else "holds"
        print(f"\na private step of 2,000 users or more takes at most {BAR:g} plain ones: {words}")
    return missed


def where_it_runs(device: str) -> str:
    return torch.cuda.get_device_name() if device == "cuda" else "processor"


def epoch(device: str) -> None:
    """138,493 users, 26,744 items and 20 million ratings, as MovieLens 20M has, on the GPU, in steps of 2,048 users."""
    users, items, ratings, batch = 138_493, 26_744, 20_000_263, 2048
    rng = np.random.default_rng(0)
    lengths = np.maximum(rng.lognormal(4.2, 1.1, users), 20)
    lengths = np.minimum(lengths * ratings / lengths.sum(), 5000).astype(np.int64)
    weight = 1 / (np.arange(items) + 20.0)
    # Items of a user must differ: those who rate most would draw some twice, so doubles are left out.
    user = np.repeat(np.arange(users), lengths)
    item = np.searchsorted(np.cumsum(weight) / weight.sum(), rng.random(len(user))).astype(np.int64)
    keys = np.unique(user * items + np.minimum(item, items - 1))
    indptr, listed = np.searchsorted(keys, np.arange(users + 1) * items), keys % items
    sizes = autoencoder.Sizes(items=items, hidden=100, latent=30)
    copy, product = peaks(device)
    most = int(max(indptr[min(first + batch, users)] - indptr[first] for first in range(0, users, batch)))
    there = {"offsets": torch.tensor(indptr, device=device), "items": torch.tensor(listed, device=device)}
    for private in (False, True):
        seconds = _epoch_of(sizes, indptr, there, batch, most, private=private, device=device)
        flops = 3 * 2 * users * items * 100
        # Over users × items numbers: a product writes the logits, one kernel reads and writes them, two products read
        # them; privately the kernel writes doubles as well, and one of the products reads these.
        traffic = users * items * (4 * 5 if not private else 4 * 4 + 8 * 2)
        print(
            f"{'private' if private else 'plain'}: {len(listed):,} ratings, one epoch on {where_it_runs(device)}: "
            f"{seconds:.2f} s, {flops / seconds / 1e12:.1f} Tflop/s ({flops / seconds / product:.0%} of a product "
            f"in single precision), {traffic / seconds / 1e9:.0f} GB/s ({traffic / seconds / copy:.0%} of a copy)",
            flush=True,
        )


def _epoch_of(
    sizes: autoencoder.Sizes,
    indptr: np.ndarray,
    there: dict[str, torch.Tensor],
    batch: int,
    most: int,
    *,
    private: bool,
    device: str,
) -> float:
    """Seconds of all steps of an epoch."""
    flat = torch.tensor(sizes.flat(sizes.start(0)), device=device)
    weights, adam = sizes.split(flat), torch.optim.Adam([flat], lr=1e-3, fused=True)
    users = len(indptr) - 1
    summed = GraphedSum(sizes, (), batch, most, beta=0.2, plain=not private, weights=weights)

    def step(first: int) -> None:
        last = min(first + batch, users)
        rows = there["items"][indptr[first] : indptr[last]]
        offsets = torch.full((batch + 1,), len(rows), device=device)
        offsets[: last - first] = there["offsets"][first:last] - there["offsets"][first]
        counts = offsets.diff()
        user = torch.repeat_interleave(torch.arange(batch, device=device), counts, output_size=len(rows))
        shares = (1 / counts.clamp(min=1).float())[user]
        some = autoencoder.Batch(offsets, rows, user, shares.sqrt(), shares, (counts > 0).float())
        code = torch.randn((batch, 30), device=device)
        if private:
            noise = NoiseOnDevice(SIGMA, GRID, len(flat), RANDOMNESS, device)
            total = summed.play(weights, some, code, CLIP)
            flat.grad = noise.add_to(total, batch, single=True)
        else:
            flat.grad = summed.play(weights, some, code, CLIP) / batch
        adam.step()

    step(0)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for first in range(0, users, batch):
        step(first)
    torch.cuda.synchronize()
    return time.perf_counter() - start


def peaks(device: str) -> tuple[float, float]:
    """Bytes a second of a large copy and operations a second of a large product in single precision."""
    size, side = (1 << 28, 8192) if device == "cuda" else (1 << 24, 1024)
    one, other = torch.empty(size, device=device), torch.ones(size, device=device)
    square = torch.randn((side, side), device=device)
    found = []
    for work, amount in ((lambda: one.copy_(other), 8 * size), (lambda: torch.mm(square, square), 2 * side**3)):
        work()
        torch.cuda.synchronize() if device == "cuda" else None
        begin = time.perf_counter()
        for _ in range(5):
            work()
        torch.cuda.synchronize() if device == "cuda" else None
        found.append(5 * amount / (time.perf_counter() - begin))
    return found[0], found[1]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epoch", action="store_true")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument(
        "--batches", type=int, nargs="*", default=[512, 2048, 8192] if torch.cuda.is_available() else [512, 2048]
    )
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # Opacus has several, none of which matters here
    where = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cuda.matmul.allow_tf32 = False
    with torch.no_grad() if arguments.epoch else torch.enable_grad():
        if arguments.epoch and where == "cpu":
            print("an epoch of this size is for a GPU")
        elif arguments.epoch:
            epoch(where)
        elif table(where, arguments.repeats, arguments.batches, arguments.items):
            sys.exit(1)
