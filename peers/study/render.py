"""The study's tables, in Markdown. Every figure comes from `figures`; here is only what stands where."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from . import figures
from .cases import NOMINAL_MILLISECONDS, SERVICES, Case
from .figures import Spread
from .records import Block

Runs = Sequence[tuple[Case, Sequence[Block]]]

NAMES = {"rust": "Rust", "go": "Go", "java": "Java"}
# Windows that differ little enough in what they cost that their blocks say the same of starts.
SHORT_MILLISECONDS = 100


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "| " + " | ".join("---" for _ in heads) + " |"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def share(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{100 * value:.{digits}f} %"


def signed(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{100 * value:+.{digits}f} %"


def spread(value: Spread | None) -> str:
    """A standard deviation and, in brackets, what it is without rare large differences."""
    return f"{share(value.deviation)} ({share(value.usual)})" if value else "–"


def micro(value: float | None) -> str:
    return "–" if value is None else f"{value / 1000:.2f} µs"


def length(milliseconds: int) -> str:
    return f"{milliseconds} ms" if milliseconds < 1000 else f"{milliseconds // 1000} s"


class Tables:
    """All tables of one study."""

    def __init__(self, runs: Runs) -> None:
        self.runs = runs
        self.services = [name for name in SERVICES if any(case.service == name for case, _ in runs)]
        self.lengths = sorted({case.window_milliseconds for case, _ in runs})

    def blocks(self, service: str, milliseconds: int, freeze: bool = True) -> list[Block]:
        wanted = (service, milliseconds, freeze)
        return [
            block
            for case, blocks in self.runs
            if (case.service, case.window_milliseconds, case.freeze) == wanted
            for block in blocks
        ]

    def each(self, of: Callable[[str], Spread | None]) -> list[str]:
        """A spread for each service and all together."""
        found = [of(service) for service in self.services]
        together = figures.combined(found)
        return [*map(spread, found), spread(together), str(together.differences if together else 0)]

    def heads(self, first: str) -> list[str]:
        return [first, *(NAMES[name] for name in self.services), "all", "differences"]

    def spread_of(self, estimator: figures.Estimator, window: int, service: str) -> Spread | None:
        return figures.spread(self.blocks(service, window), estimator)

    def window_length(self, estimator: figures.Estimator) -> str:
        rows = [
            [length(window), *self.each(functools.partial(self.spread_of, estimator, window))]
            for window in self.lengths
        ]
        return table(self.heads("window"), rows)

    def estimators(self) -> str:
        rows = []
        for name, estimator in figures.ESTIMATORS.items():
            cells = [name]
            for window in (item for item in self.lengths if item <= 500):
                found = [figures.spread(self.blocks(service, window), estimator) for service in self.services]
                cells.append(spread(figures.combined(found)))
            rows.append(cells)
        return table(["estimate", *(length(item) for item in self.lengths if item <= 500)], rows)

    def pooled(self) -> str:
        """Whole blocks, since histograms are kept by trial: starts are in all of these alike."""

        def pooled_p50(block: Block) -> float | None:
            first, second = (trial.pooled_p50 for trial in block.trials)
            return math.log(second / first) if first and second else None

        rows = []
        kinds: list[tuple[str, Callable[[Block], float | None]]] = [
            ("median over rounds of ln(p50 / p50)", lambda block: figures.paired_median(figures.rounds(block))),
            ("p50 of all requests", pooled_p50),
            ("means of all requests", lambda block: figures.pooled_mean(figures.rounds(block))),
        ]
        for name, of in kinds:
            cells, variances, count = [name], [], 0
            for service in self.services:
                values = [value for block in self.short(service) if (value := of(block)) is not None]
                variance = sum(value**2 for value in values) / len(values) if values else None
                cells.append(share(math.sqrt(variance) if variance is not None else None))
                variances += [variance] if variance is not None else []
                count += len(values)
            cells += [share(math.sqrt(sum(variances) / len(variances)) if variances else None), str(count)]
            rows.append(cells)
        return table(["estimate of a block", *(NAMES[name] for name in self.services), "all", "blocks"], rows)

    def short(self, service: str) -> list[Block]:
        return [
            block for window in self.lengths if window <= SHORT_MILLISECONDS for block in self.blocks(service, window)
        ]

    def order(self) -> str:
        rows = []
        for window in (item for item in self.lengths if item <= 500):
            for name, estimator, log_level in (
                ("p50", figures.paired_median, figures.log_median),
                ("mean", figures.pooled_mean, figures.log_mean),
            ):
                blocks = {service: self.blocks(service, window) for service in self.services}
                paired = [figures.paired(blocks[s], estimator) for s in blocks]
                apart = [figures.sequential(blocks[s], log_level) for s in blocks]
                cells = [f"{spread(p)} / {spread(a)}" for p, a in zip(paired, apart, strict=True)]
                both = figures.combined(paired), figures.combined(apart)
                cells.append(f"{spread(both[0])} / {spread(both[1])}")
                rows.append([length(window), name, *cells])
        return table(["window", "of", *(NAMES[name] for name in self.services), "all"], rows)

    def switch(self) -> str:
        rows = []
        for window in self.lengths:
            for service in self.services:
                blocks = self.blocks(service, window)
                longer = figures.against_longer(blocks)
                place = figures.place_effect(blocks)
                rows.append(
                    [
                        length(window),
                        NAMES[service],
                        micro(figures.level(blocks, lambda item: item.p50)),
                        signed(figures.after_switch(blocks), 1),
                        f"{signed(longer[0])} ({longer[1]})" if longer else "–",
                        f"{signed(place[0])} ± {share(place[1])}" if place else "–",
                    ]
                )
        heads = ["window", "program", "p50", "lead-in's p50 against it", "it against windows ≥ 10 × as long (trials)"]
        return table([*heads, "second of a round against the first"], rows)

    def levels(self) -> str:
        rows = []
        for service in self.services:
            for window in self.lengths:
                blocks = self.blocks(service, window)
                if not blocks:
                    continue
                rows.append(
                    [
                        NAMES[service],
                        length(window),
                        micro(figures.level(blocks, lambda item: item.p50)),
                        micro(figures.mean_level(blocks)),
                        micro(figures.cpu_level(blocks)),
                        str(len(blocks)),
                    ]
                )
        return table(["program", "window", "p50", "mean", "CPU a request", "blocks"], rows)

    def bias(self) -> str:
        rows = []
        for window in self.lengths:
            for name, estimator in (("p50", figures.paired_median), ("mean", figures.pooled_mean)):
                cells = []
                for service in self.services:
                    found = figures.bias(self.blocks(service, window), estimator)
                    cells.append(f"{signed(found[0])} ± {share(found[1])}" if found else "–")
                rows.append([length(window), name, *cells])
        return table(["window", "of", *(NAMES[name] for name in self.services)], rows)

    def freezing(self) -> str:
        rows = []
        for service in self.services:
            for freeze in (True, False):
                blocks = self.blocks(service, NOMINAL_MILLISECONDS, freeze)
                bias = figures.bias(blocks, figures.paired_median)
                rows.append(
                    [
                        NAMES[service],
                        "frozen" if freeze else "left running",
                        spread(figures.spread(blocks, figures.paired_median)),
                        spread(figures.spread(blocks, figures.pooled_mean)),
                        micro(figures.level(blocks, lambda item: item.p50)),
                        micro(figures.mean_level(blocks)),
                        micro(figures.cpu_level(blocks)),
                        f"{signed(bias[0])} ± {share(bias[1])}" if bias else "–",
                    ]
                )
        heads = ["program", "the other is", "spread of p50's", "of the mean's", "p50", "mean", "CPU a request"]
        return table([*heads, "bias of p50's"], rows)

    def starts(self) -> str:
        rows = []
        for name, estimator in (("p50", figures.paired_median), ("mean", figures.pooled_mean)):
            found = [figures.starts(self.short(service), estimator) for service in self.services]
            cells = [f"{share(item[0])} / {share(item[1])} ({item[2]})" if item else "–" for item in found]
            rows.append([name, *cells])
        return table(["of", *(NAMES[name] for name in self.services)], rows)

    def budget(self) -> str:
        """Each program's own starts, slices and warm-ups, as blocks of short windows have them."""
        counts = [degrees + 1 for degrees in figures.STUDENT]
        rows = []
        for service in self.services:
            blocks = self.short(service)
            found = figures.starts(blocks, figures.paired_median)
            if not found:
                continue
            overhead = sum(map(figures.overhead_seconds, blocks)) / len(blocks)
            for seconds in (20, 60, 300):
                cells = [figures.half_width(found[0], found[1], count, seconds, overhead) for count in counts]
                rows.append([NAMES[service], f"{overhead:.1f} s", f"{seconds} s", *map(share, cells)])
        return table(["program", "warm-up of a block", "time in all", *(f"{count} blocks" for count in counts)], rows)


def markdown(runs: Runs, facts: dict[str, Any]) -> str:
    """Every table under its name, with the host's facts."""
    tables = Tables(runs)
    parts = [
        ("Host", host(facts)),
        ("Length of a window: spread of 4 s, p50", tables.window_length(figures.paired_median)),
        ("Length of a window: spread of 4 s, mean", tables.window_length(figures.pooled_mean)),
        ("Estimators: spread of 4 s, all programs", tables.estimators()),
        ("Estimators of whole blocks: distance from the truth", tables.pooled()),
        ("Order: spread of a slice of 2 s, paired / one after the other", tables.order()),
        ("Bias: mean of blocks' estimates, which should be 0", tables.bias()),
        ("Switches", tables.switch()),
        ("Levels", tables.levels()),
        (f"Freezing, windows of {NOMINAL_MILLISECONDS} ms", tables.freezing()),
        ("Starts / 4 s, standard deviations (blocks)", tables.starts()),
        ("Expected half-width of the 95 % interval of p50's cost", tables.budget()),
    ]
    return "\n\n".join(f"**{name}**\n\n{body}" for name, body in parts)


def host(facts: dict[str, Any]) -> str:
    rows = [[str(key), str(value)] for key, value in facts.items()]
    return table(["fact", "value"], rows)
