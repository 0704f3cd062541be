"""Student's t, for how many pairs an alternating comparison needs. By integration; 1e-8 is exact enough here."""

from __future__ import annotations

import math
from collections.abc import Callable

# Simpson's rule over so many steps.
_STEPS = 300


def below(t: float, freedom: int) -> float:
    """P(T <= t) with so many degrees of freedom: the density integrated after x = sqrt(f)·tan(u)."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)
    end = math.atan(t / math.sqrt(freedom))
    return 0.5 + scale * _simpson(lambda u: math.cos(u) ** (freedom - 1), 0.0, end)


def quantile(share: float, freedom: int) -> float:
    """The t that this share lies below, by bisection."""
    low, high = -1e4, 1e4
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle, freedom) < share else (low, middle)
    return (low + high) / 2


def pairs_needed(deviation: float, effect: float, power: float = 0.8, most: int = 1_000_000) -> int | None:
    """Fewest pairs n whose 95 % interval excludes 0 with this probability: (t(0.975) + t(power))·s/sqrt(n) <= effect.

    The usual approximation to the noncentral t (Cohen 1988, chapter 2), with n - 1 degrees of freedom.
    """

    def enough(count: int) -> bool:
        reach = quantile(0.975, count - 1) + quantile(power, count - 1)
        return reach * deviation / math.sqrt(count) <= effect

    low, high = 1, 2
    while not enough(high):
        low, high = high, high * 2
        if high > most:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _simpson(what: Callable[[float], float], start: float, end: float) -> float:
    step = (end - start) / _STEPS
    inner = sum((4 if i % 2 else 2) * what(start + i * step) for i in range(1, _STEPS))
    return (what(start) + inner + what(end)) * step / 3
