"""Judges: whether numbers rise, are flat, are close … Each is a pure function of lines, and says its tolerance.

A line is a list of cases, each with one number for every repetition; smaller numbers are better, as errors and seconds
are. Repetitions of two cases share their split and their noise, so differences are taken repetition by repetition.
*Chance* is half the 95 % interval of a mean difference; with one repetition it is 0, since nothing is known of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from discreet.papers.frame.outcome import Line, Sample, ratios, with_half_width


@dataclass(frozen=True)
class Finding:
    """Whether it holds, and the numbers that say so."""

    holds: bool
    numbers: str


def rises(line: Line, *, slack: float) -> Finding:
    """From first to last, and between neighbours nowhere down by more than chance and ``slack``."""
    steps = [with_half_width(later.values - earlier.values) for earlier, later in pairwise(line)]
    grows = line[-1].mean > line[0].mean
    return Finding(grows and all(step >= -chance - slack for step, chance in steps), _listed(line))


def falls(line: Line, *, slack: float) -> Finding:
    """The other way round."""
    return Finding(rises(line[::-1], slack=slack).holds, _listed(line))


def flat(line: Line, *, over: str, beyond: float, within: float) -> Finding:
    """From ``beyond`` on, every mean is within a share of the last."""
    last = line[-1].mean
    far = [place for place, found in enumerate(line) if abs(found.mean / last - 1) > within]
    start = line[max(far, default=-1) + 1].case[over]
    return Finding(start <= beyond, f"within {within:.0%} of the last from {over} {start:g} on: {_listed(line)}")


def approaches(line: Line, *, over: str, beyond: float, within: float) -> Finding:
    """From ``beyond`` on no step is larger than the one before, unless it is within a share, and the last is."""
    far = [found for found in line if found.case[over] >= beyond]
    steps = [abs(later.mean / earlier.mean - 1) for earlier, later in pairwise(far)]
    settles = all(later <= max(earlier, within) for earlier, later in pairwise(steps))
    numbers = ", ".join(f"{step:.1%}" for step in steps)
    return Finding(
        settles and steps[-1] <= within,
        f"steps of {numbers} from {over} {far[0].case[over]:g} on (constant: the last is up to {within:.0%})",
    )


def near_one(line: Line, *, within: float) -> Finding:
    """Every mean is within a share of 1, above or below."""
    near = sum(abs(one.mean - 1) <= within for one in line)
    return Finding(near == len(line), f"{_listed(line)}; within {within:.0%} of 1 in {near} of {len(line)}")


def mainly(part: Sample, whole: Sample, *, share: float = 0.5) -> Finding:
    """A part is more than a share of the whole."""
    (found,) = ratios([part], [whole])
    return Finding(found.mean > share, f"{found.mean:.0%} of the whole (mainly: more than {share:.0%})")


def steeper(line: Line, *, over: str, below: float, times: float, least: float = 0.0) -> Finding:
    """From ``below`` down to the first, numbers rise more than ``times`` as much as from the last down to it.

    And by more than a share, ``least``: what counts as flat does not count as steep.
    """
    first, last = line[0], line[-1]
    middle = next(found for found in line if found.case[over] == below)
    before, after = first.mean - middle.mean, middle.mean - last.mean
    return Finding(
        before > times * max(after, 0.0) and before > least * middle.mean,
        f"{before:+.3f} ({before / middle.mean:+.1%}) from {over} {below:g} to {first.case[over]:g}, {after:+.3f} from "
        f"{last.case[over]:g} to {below:g} (rapidly: {times:g} times as much, and more than {least:.0%})",
    )


def close(line: Line, beside: Line, *, within: float) -> Finding:
    """Every mean ratio is at most 1 and a share."""
    found = ratios(line, beside)
    near, worst = sum(one.mean <= 1 + within for one in found), max(found, key=lambda one: one.mean)
    least = min(one.mean for one in found) - 1
    if len(found) == 1:
        return Finding(near == 1, f"{least:+.1%}, and up to {within:.0%} is the limit")
    return Finding(
        near == len(found),
        f"{least:+.1%} to {worst.mean - 1:+.1%}, up to {within:.0%} in {near} of {len(found)}; "
        f"most at {worst.case.setting}",
    )


def better(line: Line, than: Line, *, by: float = 0.0) -> Finding:
    """In every setting, the mean is less by more than ``by``."""
    gaps = [float(np.mean(other.values - own.values)) for own, other in zip(line, than, strict=True)]
    count = sum(gap > by for gap in gaps)
    if len(gaps) == 1:
        return Finding(count == 1, f"better by {gaps[0]:+.3f}")
    return Finding(
        count == len(gaps), f"better in {count} of {len(gaps)} settings, by {min(gaps):+.3f} to {max(gaps):+.3f}"
    )


def better_somewhere(line: Line, than: Line, *, slack: float) -> Finding:
    """In some setting, by more than twice chance and ``slack``: twice, since there are many to be lucky in."""
    gaps = [with_half_width(other.values - own.values) for own, other in zip(line, than, strict=True)]
    count = sum(gap > 2 * chance + slack for gap, chance in gaps)
    best = min(ratios(line, than), key=lambda one: one.mean)
    return Finding(
        count > 0,
        f"in {count} of {len(gaps)} settings; the lowest ratio is {best.mean:.3f}, at {best.case.setting}",
    )


def mostly_worse(line: Line, than: Line, *, share: float = 0.5) -> Finding:
    """In more than a share of the settings, the mean is greater."""
    count = sum(own.mean > other.mean for own, other in zip(line, than, strict=True))
    return Finding(count > share * len(line), f"worse in {count} of {len(line)} settings")


def at_most(sample: Sample, *, limit: float, unit: str = "") -> Finding:
    """The mean is no more than a limit."""
    return Finding(sample.mean <= limit, f"{sample.mean:.2f}{unit}, and {limit:g}{unit} is the limit")


def all_of(findings: Mapping[str, Finding], what: str) -> Finding:
    """Whether all hold, and how many do."""
    held = sum(finding.holds for finding in findings.values())
    fail = [name for name, finding in findings.items() if not finding.holds]
    return Finding(not fail, f"for {held} of {len(findings)} {what}" + (f", not for {', '.join(fail)}" if fail else ""))


def _listed(line: Line) -> str:
    return ", ".join(map(str, line))
