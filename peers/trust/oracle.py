#!/usr/bin/env python3
"""Values that the tests of crates/judge/src/stats/bootstrap.rs hold the code against.

Of samples of ten the bootstrap distribution itself is enumerated: all 92,378 ways to draw ten of ten with replacement,
each with its multinomial weight, so there is no Monte Carlo error. Of the sample of thirty, BCa is SciPy's and
bootstrap-t is drawn by NumPy, both a million times. Needs NumPy and SciPy; prints one line a sample.
"""

import math
from itertools import combinations, pairwise

import numpy
from scipy import stats

SAMPLES = {
    "even": [-1.5, -1.0, -0.7, -0.4, -0.1, 0.1, 0.4, 0.7, 1.0, 1.5],
    "skewed": [0.11, 0.23, 0.31, 0.38, 0.52, 0.71, 0.90, 1.34, 2.05, 4.10],
    "outlier": [9.8, 10.1, 9.9, 10.0, 10.2, 10.05, 9.95, 10.15, 9.85, 13.0],
}
THIRTY = [round(math.exp(stats.norm.ppf((i + 0.5) / 30)), 3) for i in range(30)]


def compositions(cells, total):
    """All ways to put `total` draws into `cells`."""
    for bars in combinations(range(total + cells - 1), cells - 1):
        edges = (-1, *bars, total + cells - 1)
        yield [b - a - 1 for a, b in pairwise(edges)]


def weighted_quantile(values, weights, share):
    order = numpy.argsort(values, kind="stable")
    mass = numpy.cumsum(weights[order])
    return values[order][numpy.searchsorted(mass, share * mass[-1] * (1 - 1e-12))]


def enumerated(sample):
    x = numpy.array(sample)
    n = len(x)
    counts = numpy.array(list(compositions(n, n)))
    weights = numpy.array([math.factorial(n) / math.prod(map(math.factorial, row)) for row in counts.tolist()])
    means = counts @ x / n
    squares = numpy.maximum(counts @ (x * x) - n * means * means, 0)
    errors = numpy.sqrt(squares / (n - 1) / n)
    centre, error = x.mean(), x.std(ddof=1) / math.sqrt(n)
    with numpy.errstate(divide="ignore", invalid="ignore"):
        ratios = numpy.where(numpy.isclose(means, centre), 0, (means - centre) / errors)
    t = (
        centre - weighted_quantile(ratios, weights, 0.975) * error,
        centre - weighted_quantile(ratios, weights, 0.025) * error,
    )
    equal = numpy.isclose(means, centre, rtol=0, atol=1e-12)
    below = (weights[(means < centre) & ~equal].sum() + 0.5 * weights[equal].sum()) / weights.sum()
    bias = stats.norm.ppf(below)
    d = x - centre
    acceleration = (d**3).sum() / (6 * (d**2).sum() ** 1.5)
    shares = [
        stats.norm.cdf(bias + (bias + z) / (1 - acceleration * (bias + z))) for z in stats.norm.ppf([0.025, 0.975])
    ]
    return t, tuple(weighted_quantile(means, weights, share) for share in shares)


def drawn(sample):
    x = numpy.array(sample)
    random = numpy.random.default_rng(1)
    centre, error = x.mean(), x.std(ddof=1) / math.sqrt(len(x))
    ratios = []
    for _ in range(100):
        rows = random.choice(x, size=(10_000, len(x)))
        ratios.append((rows.mean(axis=1) - centre) / (rows.std(axis=1, ddof=1) / math.sqrt(len(x))))
    high, low = numpy.quantile(numpy.concatenate(ratios), [0.975, 0.025])
    found = stats.bootstrap((x,), numpy.mean, n_resamples=1_000_000, batch=10_000, method="BCa", random_state=2)
    return (centre - high * error, centre - low * error), tuple(found.confidence_interval)


def main():
    for name, sample in SAMPLES.items():
        t, bca = enumerated(sample)
        scipy = stats.bootstrap((sample,), numpy.mean, n_resamples=200_000, batch=10_000, method="BCa", random_state=3)
        print(
            f"{name}: bootstrap-t {t[0]:.5f} {t[1]:.5f}, BCa {bca[0]:.5f} {bca[1]:.5f}, SciPy's BCa "
            f"{scipy.confidence_interval.low:.5f} {scipy.confidence_interval.high:.5f}"
        )
    t, bca = drawn(THIRTY)
    print(f"thirty {THIRTY}: bootstrap-t {t[0]:.5f} {t[1]:.5f}, SciPy's BCa {bca[0]:.5f} {bca[1]:.5f}")


if __name__ == "__main__":
    main()
