"""From samples to figures and verdicts. Pure."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Callable, Sequence

from .sample import Sample

# The rule of every sitting. The first quarter is left to settling; what a process holds for good it has by then.
MEMORY_SHARE = 0.05
MEMORY_KIB = 2048
DESCRIPTORS = 2
PIECES = 24
Z_95 = 1.959964

Points = Sequence[tuple[float, float]]


@dataclasses.dataclass(frozen=True)
class Slope:
    """Per hour, with a 95 % interval."""

    point: float
    lower: float
    upper: float


@dataclasses.dataclass(frozen=True)
class Course:
    """One figure of one process over the sitting: medians of its quarters, its maximum and slope."""

    quarters: tuple[float, float, float, float]
    most: float
    slope: Slope | None

    @property
    def growth(self) -> float:
        """From the second quarter to the last."""
        return self.quarters[3] - self.quarters[1]


@dataclasses.dataclass(frozen=True)
class Held:
    """What one process held."""

    who: str
    memory: Course
    descriptors: Course
    threads: Course
    cpu_s: float
    samples: int

    @property
    def memory_flat(self) -> bool:
        return self.memory.growth <= max(MEMORY_KIB, MEMORY_SHARE * self.memory.quarters[1])

    @property
    def descriptors_flat(self) -> bool:
        return self.descriptors.growth <= DESCRIPTORS

    @property
    def flat(self) -> bool:
        return self.memory_flat and self.descriptors_flat


def pieces(points: Points, count: int) -> list[list[tuple[float, float]]]:
    """The points in `count` spans of equal time, empty ones left out."""
    if not points:
        return []
    first, last = points[0][0], points[-1][0]
    width = (last - first) / count or 1.0
    spans: list[list[tuple[float, float]]] = [[] for _ in range(count)]
    for at, value in points:
        spans[min(int((at - first) / width), count - 1)].append((at, value))
    return [span for span in spans if span]


def theil_sen(points: Points) -> Slope | None:
    """Median of the slopes of all pairs, and Sen's interval by Kendall's variance (Sen 1968, J. Am. Stat. Assoc. 63). Per
    unit of the first coordinate. `None` of fewer than five points."""
    n = len(points)
    slopes = sorted(
        (later[1] - earlier[1]) / (later[0] - earlier[0])
        for at, earlier in enumerate(points)
        for later in points[at + 1 :]
        if later[0] > earlier[0]
    )
    if n < 5 or not slopes:
        return None
    reach = Z_95 * math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    lower = max(0, math.floor((len(slopes) - reach) / 2))
    upper = min(len(slopes) - 1, math.ceil((len(slopes) + reach) / 2))
    return Slope(statistics.median(slopes), slopes[lower], slopes[upper])


def course(points: Points) -> Course:
    """Of samples in order. The slope is that of the medians of pieces, so that neighbours, which are alike, count once, and
    of the last three quarters."""
    quarters = [statistics.median(value for _, value in span) for span in pieces(points, 4)]
    quarters += quarters[-1:] * (4 - len(quarters))
    start = points[0][0] + (points[-1][0] - points[0][0]) / 4
    settled = [point for point in points if point[0] >= start]
    middles = [
        (statistics.fmean(at for at, _ in span) / 3600, statistics.median(value for _, value in span))
        for span in pieces(settled, PIECES)
    ]
    first, second, third, last = quarters
    return Course((first, second, third, last), max(value for _, value in points), theil_sen(middles))


def held(who: str, samples: Sequence[Sample]) -> Held:
    def of(figure: Callable[[Sample], float]) -> Course:
        return course([(sample.at, figure(sample)) for sample in samples])

    return Held(
        who=who,
        memory=of(lambda sample: sample.rss_kib),
        descriptors=of(lambda sample: sample.descriptors),
        threads=of(lambda sample: sample.threads),
        cpu_s=samples[-1].cpu_s,
        samples=len(samples),
    )


__all__ = [
    "DESCRIPTORS",
    "MEMORY_KIB",
    "MEMORY_SHARE",
    "Course",
    "Held",
    "Slope",
    "course",
    "held",
    "pieces",
    "theil_sen",
]
