"""The arithmetic: exact intervals of shares, and effects by least squares. Pure."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Callable, Sequence

from differences.students import quantile

LEVEL = 0.95


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval."""

    point: float
    lower: float
    upper: float


def share(hits: int, of: int) -> Estimate:
    """A share with its exact interval (Clopper & Pearson 1934)."""
    tail = (1 - LEVEL) / 2
    lower = 0.0 if hits == 0 else _root(lambda p: _at_least(hits, of, p) - tail)
    upper = 1.0 if hits == of else _root(lambda p: tail - _at_most(hits, of, p))
    return Estimate(hits / of, lower, upper)


def mean(values: Sequence[float]) -> Estimate | None:
    """The mean with Student's interval; `None` below two values."""
    found = least_squares([[1.0] for _ in values], values)
    return found[0] if found else None


def least_squares(rows: Sequence[Sequence[float]], values: Sequence[float]) -> list[Estimate] | None:
    """Coefficients of the columns of `rows`, with Student's intervals. Assumed: errors are independent and alike.

    `None` where the rows do not tell the columns apart, or leave nothing to judge the errors by.
    """
    columns = range(len(rows[0]) if rows else 0)
    freedom = len(rows) - len(columns)
    products = [[math.fsum(row[i] * row[j] for row in rows) for j in columns] for i in columns]
    inverse = inverted(products)
    if inverse is None or freedom < 1:
        return None
    sums = [math.fsum(row[i] * value for row, value in zip(rows, values, strict=True)) for i in columns]
    points = [math.fsum(inverse[i][j] * sums[j] for j in columns) for i in columns]
    fitted = [math.fsum(row[i] * points[i] for i in columns) for row in rows]
    left = math.fsum((value - fit) ** 2 for value, fit in zip(values, fitted, strict=True))
    reach = quantile((1 + LEVEL) / 2, freedom) * math.sqrt(left / freedom)
    halves = [reach * math.sqrt(inverse[i][i]) for i in columns]
    return [Estimate(point, point - half, point + half) for point, half in zip(points, halves, strict=True)]


def inverted(matrix: Sequence[Sequence[float]]) -> list[list[float]] | None:
    """The inverse by Gauss and Jordan; `None` of a matrix that has none."""
    size = len(matrix)
    rows = [[*row, *(float(i == j) for j in range(size))] for i, row in enumerate(matrix)]
    for at in range(size):
        pivot = max(range(at, size), key=lambda row: abs(rows[row][at]))
        if abs(rows[pivot][at]) < 1e-9:
            return None
        rows[at], rows[pivot] = rows[pivot], rows[at]
        rows[at] = [value / rows[at][at] for value in rows[at]]
        for other in set(range(size)) - {at}:
            factor = rows[other][at]
            rows[other] = [mine - factor * its for mine, its in zip(rows[other], rows[at], strict=True)]
    return [row[size:] for row in rows]


def overdispersion(points: Sequence[float], half_widths: Sequence[float], blocks: int) -> float | None:
    """How many times as far apart runs are as their blocks say (1 where runs are no more than their blocks): the root
    of the variance between runs over the mean of their squared standard errors. Runs of equally many blocks."""
    if len(points) < 2:
        return None
    reach = quantile((1 + LEVEL) / 2, blocks - 1)
    within = statistics.fmean((half / reach) ** 2 for half in half_widths)
    return math.sqrt(statistics.variance(points) / within) if within > 0 else None


def _at_least(hits: int, of: int, chance: float) -> float:
    return 1.0 - _at_most(hits - 1, of, chance)


def _at_most(hits: int, of: int, chance: float) -> float:
    """P(X <= hits) of a binomial law."""
    terms = (math.comb(of, k) * chance**k * (1 - chance) ** (of - k) for k in range(hits + 1))
    return math.fsum(terms)


def _root(rising: Callable[[float], float]) -> float:
    """Where a rising function of 0 to 1 is 0, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return (low + high) / 2
