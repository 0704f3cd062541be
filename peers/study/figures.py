"""The study's arithmetic: from windows to estimates of stretches of time, and to what they spread.

A *slice* is a stretch of one block's rounds, 2 s of them or one round where that is longer. Every estimate is of
ln(second / first); both are one program, so what two slices of a block differ by is noise. The spread comes from
neighbouring slices alone, by von Neumann's mean square of successive differences: var = mean(d²) / 2. Slices as far apart
then weigh the same in blocks of any length, and what two starts of the program differ by is in none of it.

Windows of any length are judged by what they tell in the same time, switches and lead-ins included: spreads are given
for 4 s of rounds, by the root of a slice's length.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import statistics
from collections.abc import Callable, Sequence

from .records import Block, Window

SLICE_SECONDS = 2.0
TOLD_SECONDS = 4.0

# The median of |d| of normal differences is this many standard deviations of one value.
MEDIAN_DIFFERENCE = 0.6745 * math.sqrt(2)

# A round: the windows of both variants.
Pair = tuple[Window, Window]
Estimator = Callable[[Sequence[Pair]], float]


def rounds(block: Block, kind: str = "measured") -> list[Pair]:
    """Rounds in which both variants have a window, in their order."""
    first, second = ({window.round: window for window in trial.of(kind)} for trial in block.trials)
    return [(first[number], second[number]) for number in sorted(first.keys() & second.keys())]


def seconds_of_round(pairs: Sequence[Pair]) -> float:
    """A round as it took, from the first window's start to the next round's, on average."""
    starts = [min(one.started, other.started) for one, other in pairs]
    if len(starts) > 1:
        return (starts[-1] - starts[0]) / (len(starts) - 1) / 1e9
    ((one, other),) = pairs
    return (max(one.ended, other.ended) - min(one.started, other.started)) / 1e9


def slices(pairs: Sequence[Pair], seconds: float = SLICE_SECONDS) -> list[list[Pair]]:
    """Whole slices from the block's beginning; what is left at its end is none. A round that takes longer is one."""
    if not pairs:
        return []
    each = max(1, round(seconds / seconds_of_round(pairs)))
    return [list(pairs[at : at + each]) for at in range(0, len(pairs) - each + 1, each)]


# Estimators. Each takes rounds and gives ln(second / first).


def paired_median(pairs: Sequence[Pair]) -> float:
    """The product's *typical*: the median over rounds of the log-ratio of the windows' p50."""
    return statistics.median(math.log(other.p50 / one.p50) for one, other in pairs)


def paired_mean(pairs: Sequence[Pair]) -> float:
    """The mean over rounds of the same."""
    return statistics.fmean(math.log(other.p50 / one.p50) for one, other in pairs)


def unpaired_median(pairs: Sequence[Pair]) -> float:
    """The median of one variant's windows over that of the other's."""
    return math.log(statistics.median(other.p50 for _, other in pairs) / statistics.median(one.p50 for one, _ in pairs))


def pooled_mean(pairs: Sequence[Pair]) -> float:
    """The product's *total*: sums over sums."""
    first, second = (
        sum(pair[side].total for pair in pairs) / sum(pair[side].requests for pair in pairs) for side in (0, 1)
    )
    return math.log(second / first)


def median_of_means(pairs: Sequence[Pair]) -> float:
    """The median over rounds of the log-ratio of the windows' means: robust, and so not a total."""
    return statistics.median(math.log(other.mean / one.mean) for one, other in pairs)


ESTIMATORS: dict[str, Estimator] = {
    "median over rounds of ln(p50 / p50)": paired_median,
    "mean over rounds of ln(p50 / p50)": paired_mean,
    "medians of the windows' p50, not paired": unpaired_median,
    "median over rounds of ln(mean / mean)": median_of_means,
    "means of all requests": pooled_mean,
}


@dataclasses.dataclass(frozen=True)
class Spread:
    """A standard deviation, the same by the median of the differences (which rare large ones leave alone), and the
    number of differences."""

    deviation: float
    differences: int
    usual: float


def successive(series: Sequence[Sequence[float]]) -> Spread | None:
    """The standard deviation of one value, from neighbours in each series."""
    apart = [abs(b - a) for values in series for a, b in itertools.pairwise(values)]
    if not apart:
        return None
    deviation = math.sqrt(statistics.fmean(each**2 for each in apart) / 2)
    return Spread(deviation, len(apart), statistics.median(apart) / MEDIAN_DIFFERENCE)


def combined(spreads: Sequence[Spread | None]) -> Spread | None:
    """Root mean square over programs that count the same, however many differences each has."""
    known = [spread for spread in spreads if spread]
    if not known:
        return None
    deviation, usual = (
        math.sqrt(statistics.fmean(value**2 for value in values))
        for values in ([spread.deviation for spread in known], [spread.usual for spread in known])
    )
    return Spread(deviation, sum(spread.differences for spread in known), usual)


def estimates(block: Block, estimator: Estimator) -> list[float]:
    """A block's slices, each estimate as far from 0 as one of 4 s would be."""
    parts = slices(rounds(block))
    if not parts:
        return []
    scale = math.sqrt(len(parts[0]) * seconds_of_round(rounds(block)) / TOLD_SECONDS)
    return [scale * estimator(part) for part in parts]


def spread(blocks: Sequence[Block], estimator: Estimator) -> Spread | None:
    """What estimates of 4 s spread by."""
    return successive([estimates(block, estimator) for block in blocks])


def paired(blocks: Sequence[Block], estimator: Estimator) -> Spread | None:
    """What estimates of a slice spread by."""
    return successive([[estimator(part) for part in slices(rounds(block))] for block in blocks])


def sequential(blocks: Sequence[Block], log_level: Callable[[Sequence[Window]], float]) -> Spread | None:
    """The same if the variants had run one after the other: the first one's windows of one slice against the second
    one's of the next. As many windows, 4 s apart.

    With a and b the logarithms of the variants' levels in slices 1 and 2, such an estimate is b2 - a1, and the one the
    other way round b1 - a2. Half of their difference, ((b2 - b1) + (a2 - a1)) / 2, is free of what the processes differ by
    for good. It holds all of what both drift by, but of each slice's own noise only half the variance: the paired
    estimate's spread, which has twice that noise and no drift, gives the other half.
    """
    drifts, pairs = [], []
    for block in blocks:
        levels = [tuple(log_level([pair[side] for pair in part]) for side in (0, 1)) for part in slices(rounds(block))]
        drifts += [((b2 - b1) + (a2 - a1)) / 2 for (a1, b1), (a2, b2) in itertools.pairwise(levels)]
        pairs.append([second - first for first, second in levels])
    paired = successive(pairs)
    if paired is None:
        return None
    variance = statistics.fmean(drift**2 for drift in drifts) + paired.deviation**2 / 2
    # The median of |N(0, s²)| is 0.6745 s.
    usual = (statistics.median(map(abs, drifts)) / 0.6745) ** 2 + paired.usual**2 / 2
    return Spread(math.sqrt(variance), len(drifts), math.sqrt(usual))


def log_median(windows: Sequence[Window]) -> float:
    return math.log(statistics.median(window.p50 for window in windows))


def log_mean(windows: Sequence[Window]) -> float:
    return math.log(sum(window.total for window in windows) / sum(window.requests for window in windows))


def bias(blocks: Sequence[Block], estimator: Estimator) -> tuple[float, float] | None:
    """Mean of the blocks' estimates, which should be 0, and its standard error."""
    values = [estimator(rounds(block)) for block in blocks]
    if len(values) < 2:
        return None
    return statistics.fmean(values), statistics.stdev(values) / math.sqrt(len(values))


def place_effect(blocks: Sequence[Block]) -> tuple[float, float] | None:
    """How much the window that comes second in its round is slower by p50 than the first, which should be 0, and the
    standard error: from the block's rounds of either order."""
    values = []
    for block in blocks:
        pairs = rounds(block)
        first = [pair for pair in pairs if pair[0].position < pair[1].position]
        then = [pair for pair in pairs if pair[0].position > pair[1].position]
        if first and then:
            values.append((paired_median(first) - paired_median(then)) / 2)
    if len(values) < 2:
        return None
    return statistics.fmean(values), statistics.stdev(values) / math.sqrt(len(values))


def starts(blocks: Sequence[Block], estimator: Estimator) -> tuple[float, float, int] | None:
    """Standard deviation of what two starts of a program differ by, that of 4 s of the same blocks, and the blocks:
    the variance of blocks' estimates about 0 less what their slices' spread leaves in them. About 0 and not about
    their mean, for the truth is known."""
    kept = [(estimator(rounds(block)), block) for block in blocks if len(slices(rounds(block))) >= 2]
    within = spread([block for _, block in kept], estimator)
    if within is None:
        return None
    times = [len(rounds(block)) * seconds_of_round(rounds(block)) for _, block in kept]
    left = statistics.fmean(within.deviation**2 * TOLD_SECONDS / time for time in times)
    between = statistics.fmean(value**2 for value, _ in kept) - left
    return math.sqrt(max(0.0, between)), within.deviation, len(kept)


def overhead_seconds(block: Block) -> float:
    """What a block takes besides its rounds, as far as windows tell: its warm-up windows."""
    warm = [window for trial in block.trials for window in trial.of("warm-up")]
    return sum(window.ended - window.started for window in warm) / 1e9


# 97.5 % quantiles of Student's t by degrees of freedom.
STUDENT = {3: 3.1824, 5: 2.5706, 7: 2.3646, 9: 2.2622, 14: 2.1448, 19: 2.0930, 29: 2.0452}


def half_width(start: float, part: float, count: int, seconds: float, overhead: float) -> float | None:
    """Expected half-width, as a log-ratio, of the 95 % interval of so many blocks within a time in all, starts and
    warm-ups included; none where a block would have less than a second of rounds."""
    measured = seconds / count - overhead
    if measured < 1:
        return None
    deviation = math.sqrt(start**2 + part**2 * TOLD_SECONDS / measured)
    return STUDENT[count - 1] * deviation / math.sqrt(count)


def level(blocks: Sequence[Block], of: Callable[[Window], float], kind: str = "measured") -> float | None:
    """The median over trials of the median over windows, in ns: the level of a time, not a comparison."""
    medians = [
        statistics.median(of(window) for window in trial.of(kind))
        for block in blocks
        for trial in block.trials
        if trial.of(kind)
    ]
    return statistics.median(medians) if medians else None


def mean_level(blocks: Sequence[Block]) -> float | None:
    """The mean over all requests of all measured windows, in ns."""
    windows = [window for block in blocks for trial in block.trials for window in trial.of("measured")]
    return sum(window.total for window in windows) / sum(window.requests for window in windows) if windows else None


def cpu_level(blocks: Sequence[Block]) -> float | None:
    """CPU time of the program for a request, in ns, lead-ins included."""
    windows = [
        window
        for block in blocks
        for trial in block.trials
        for window in trial.of("measured")
        if window.cpu is not None and window.cpu_requests
    ]
    if not windows:
        return None
    return sum(window.cpu or 0 for window in windows) / sum(window.cpu_requests or 0 for window in windows)


def after_switch(blocks: Sequence[Block]) -> float | None:
    """ln of the lead-in's p50 over that of the window behind it: the median over turns."""
    logs = []
    for block in blocks:
        for trial in block.trials:
            windows = trial.windows
            for lead, window in itertools.pairwise(windows):
                if lead.kind == "lead-in" and window.kind == "measured" and lead.round == window.round:
                    logs.append(math.log(lead.p50 / window.p50))
    return statistics.median(logs) if logs else None


def against_longer(blocks: Sequence[Block]) -> tuple[float, int] | None:
    """ln of a trial's p50 in measured windows over that in its check windows, which are at least ten times as long: the
    median over trials, and how many those are."""
    logs = []
    for block in blocks:
        for trial in block.trials:
            longer, measured = trial.of("check"), trial.of("measured")
            if longer and measured:
                mine = statistics.median(window.p50 for window in measured)
                logs.append(math.log(mine / statistics.median(window.p50 for window in longer)))
    return (statistics.median(logs), len(logs)) if logs else None
