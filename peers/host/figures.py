"""The arithmetic: costs over blocks, and how much two starts of one side differ by.

A block with two variants of each side tells both. Its two plain variants are one program under one setting, started
twice; what they differ by is the two starts and the noise of windows, and the hour of the host is in neither.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Callable, Sequence

from study.figures import paired_median, pooled_mean, rounds
from study.records import Block, Trial

NORMAL_975 = 1.959964


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A point with its 95 % interval."""

    point: float
    lower: float
    upper: float

    def mapped(self, by: Callable[[float], float]) -> Estimate:
        """Through a rising function."""
        return Estimate(by(self.point), by(self.lower), by(self.upper))


def median(values: Sequence[float]) -> Estimate | None:
    """The median with the widest pair of order statistics that 2.5 % at most lie beyond (the sign test).

    Of a block or pair in which the host changed its pace, as virtual ones do, the ratio is far off; so it is in no mean.
    """
    count, ordered = len(values), sorted(values)
    beyond, tail = 0, 0.5**count
    while tail <= 0.025:
        beyond += 1
        tail += math.comb(count, beyond) * 0.5**count
    if beyond == 0:
        return None
    return Estimate(statistics.median(ordered), ordered[beyond - 1], ordered[count - beyond])


def deviation_ratio(first: Sequence[float], second: Sequence[float]) -> Estimate | None:
    """The second's standard deviation over the first's.

    ln s² has a variance of (κ − 1)/n, where κ is the kurtosis, 3 of normal values (Layard 1973, Bonett 2006); κ is
    taken from both series, each in its own deviations, so that heavy tails make the interval wider.
    """
    if min(len(first), len(second)) < 4:
        return None
    scaled = [*_standard(first), *_standard(second)]
    kurtosis = statistics.fmean(each**4 for each in scaled) / statistics.fmean(each**2 for each in scaled) ** 2
    middle = math.log(statistics.variance(second) / statistics.variance(first))
    reach = NORMAL_975 * math.sqrt((kurtosis - 1) * (1 / len(first) + 1 / len(second)))
    return Estimate(middle, middle - reach, middle + reach).mapped(lambda log: math.exp(log / 2))


def _standard(values: Sequence[float]) -> list[float]:
    mean, deviation = statistics.fmean(values), statistics.pstdev(values)
    return [(each - mean) / deviation for each in values]


@dataclasses.dataclass(frozen=True)
class Unit:
    """One block, or one pair of loads. Logarithms of changed / plain, and of one start / another of the same side."""

    p50: float
    mean: float
    cpu: float | None = None
    memory: float | None = None
    plain_starts: float | None = None
    changed_starts: float | None = None
    plain_p50_ns: float = 0.0


def unit(block: Block, memory: Sequence[int | None]) -> Unit:
    """From a block of two variants (plain, changed) or four (plain, plain, changed, changed); memory in their order."""
    trials = block.trials
    half = len(trials) // 2
    pairs = [(number, number + half) for number in range(half)]

    def over(estimate: Callable[[Block], float]) -> float:
        return statistics.fmean(estimate(Block([trials[plain], trials[changed]])) for plain, changed in pairs)

    def typical(pair: Block) -> float:
        return paired_median(rounds(pair))

    used = [_cpu(trial) for trial in trials]
    known = half == 2
    return Unit(
        p50=over(typical),
        mean=over(lambda pair: pooled_mean(rounds(pair))),
        cpu=_between(used, pairs),
        memory=_between(memory, pairs),
        plain_starts=typical(Block(trials[:2])) if known else None,
        changed_starts=typical(Block(trials[2:])) if known else None,
        plain_p50_ns=statistics.median(window.p50 for trial in trials[:half] for window in trial.of("measured")),
    )


def _cpu(trial: Trial) -> float | None:
    windows = [window for window in trial.of("measured") if window.cpu is not None and window.cpu_requests]
    requests = sum(window.cpu_requests or 0 for window in windows)
    return sum(window.cpu or 0 for window in windows) / requests if requests else None


def _between(values: Sequence[float | None], pairs: Sequence[tuple[int, int]]) -> float | None:
    found = []
    for plain, changed in pairs:
        one, other = values[plain], values[changed]
        if not one or not other:
            return None
        found.append(math.log(other / one))
    return statistics.fmean(found)
