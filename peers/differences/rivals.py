"""The same pairs of servers by plain alternating runs of other tools, as most people compare two servers."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import pathlib
import random
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence

from compare.cases import Case as LoadCase
from compare.cases import Protocol
from compare.measure import run
from compare.servers import Setting, Target, await_line, process
from compare.tools import Job, Tool

from .cases import Case, law
from .students import pairs_needed

SECONDS = 10
"""Of each run of a tool."""
GRACE = 30.0


@dataclasses.dataclass(frozen=True)
class Pair:
    """Two runs, one of each server, one right after the other. Times in microseconds, rates per second."""

    case: str
    tool: str
    added_ns: int
    quantile_us: tuple[float, float]
    rate: tuple[float, float]
    order: str


@dataclasses.dataclass(frozen=True)
class Need:
    """How far pairs of runs spread (standard deviation of log-ratios; one pair tells none), and how many would find the effect."""

    pairs: int
    median: float
    deviation: float | None
    needed: int | None

    @property
    def seconds(self) -> float | None:
        return None if self.needed is None else self.needed * 2.0 * SECONDS


def need(ratios: Sequence[float], effect: float) -> Need:
    """What pairs whose ratios were these would need to find this relative effect in 80 of 100 tries."""
    logs = [math.log(ratio) for ratio in ratios]
    deviation = statistics.stdev(logs) if len(logs) > 1 else None
    count = pairs_needed(deviation, math.log1p(effect)) if deviation else None
    return Need(len(logs), math.exp(statistics.median(logs)), deviation, count)


def measure(
    case: Case,
    added_ns: int,
    tools: Sequence[Tool],
    pairs: int,
    setting: Setting,
    client: int,
    keep: Callable[[Pair], None],
) -> None:
    """Both servers alive on one core all the time, the tool on the other; the order within a pair is random."""
    order = random.Random(1)
    with contextlib.ExitStack() as stack:
        ports = [stack.enter_context(probe(setting, law(case, more))) for more in (0, added_ns)]
        for _ in range(pairs):
            for tool in order.sample(list(tools), len(tools)):
                keep(_pair(case, added_ns, tool, ports, client, order.random() < 0.5))


@contextlib.contextmanager
def probe(setting: Setting, delay: str) -> Iterator[int]:
    """A probe with this law; its port."""
    with process([setting.weigh, "probe", "delay", delay, "--port", "0"], setting) as server:
        yield await_line(server, setting)


def _pair(case: Case, added_ns: int, tool: Tool, ports: Sequence[int], client: int, swapped: bool) -> Pair:
    share = 99 if case.quantity.endswith("p99") else 50
    said: list[tuple[float, float]] = [(0.0, 0.0), (0.0, 0.0)]
    for which in (1, 0) if swapped else (0, 1):
        load = LoadCase(case.name, Protocol.HTTP1, "probe", (), connections=1)
        with tempfile.TemporaryDirectory(prefix="weigh-differences-") as folder:
            job = Job(load, Target("http", ports[which], "/pong/64"), SECONDS, pathlib.Path(folder))
            finished = run(tool.command(job), client, SECONDS + GRACE)
            finished.expect(*tool.codes)
            outcome = tool.parse(finished, job)
        quantile = outcome.p99_us if share == 99 else outcome.p50_us
        said[which] = (float(quantile or 0.0), outcome.rate)
    (first, first_rate), (second, second_rate) = said
    return Pair(case.name, tool.name, added_ns, (first, second), (first_rate, second_rate), "BA" if swapped else "AB")


__all__ = ["Need", "Pair", "measure", "need"]
