"""From turns to figures: ratios of `weigh` to a peer in the same round, their median and spread. Pure."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from .apart import alike, groups
from .cases import Case, Figure, Goal, OwnGoal


@dataclasses.dataclass(frozen=True)
class Turn:
    """One measured run of one tool. Times in microseconds, CPU in seconds of user and system time.

    `served` is what the server counted meanwhile; `apart_ns` the distance of the two cores before and after. `problem`
    says why the turn does not count, if it does not.
    """

    round: int
    tool: str
    requests: int
    errors: int
    served: int | None
    seconds: float
    wall: float
    cpu: float
    cpu_waited: float
    cpu_group: float | None
    rate: float
    per_cpu: float
    mean_us: float | None
    p50_us: float | None
    p99_us: float | None
    offered: float | None
    lag_p99_us: float | None
    steal: float
    apart_ns: tuple[float | None, float | None]
    remark: str | None
    problem: str | None

    @property
    def achieved(self) -> float | None:
        """Requests done of those due, in open load."""
        return self.rate / self.offered if self.offered else None

    def figure(self, figure: Figure) -> float | None:
        value: float | None = getattr(self, figure.value)
        return value


@dataclasses.dataclass(frozen=True)
class Spread:
    """Median, quartiles and range of a sample, and its size."""

    median: float
    lower: float
    upper: float
    least: float
    most: float
    count: int

    @staticmethod
    def of(sample: Sequence[float]) -> Spread | None:
        """Nothing of nothing. Quartiles by linear interpolation between order statistics (R's type 7)."""
        if not sample:
            return None
        ordered = sorted(sample)
        one = len(ordered) == 1
        quartiles = ordered * 3 if one else statistics.quantiles(ordered, n=4, method="inclusive")
        return Spread(quartiles[1], quartiles[0], quartiles[2], ordered[0], ordered[-1], len(ordered))


@dataclasses.dataclass(frozen=True)
class Pair:
    """A turn of `weigh` and one of a peer in the same round, both of which count."""

    weigh: Turn
    peer: Turn

    @property
    def apart_ns(self) -> list[float]:
        """The distances of the cores that were measured around the two."""
        return [distance for distance in (*self.weigh.apart_ns, *self.peer.apart_ns) if distance]

    def ratio(self, figure: Figure) -> float | None:
        """`weigh` over the peer, where both have the figure."""
        above, below = self.weigh.figure(figure), self.peer.figure(figure)
        return above / below if above and below else None


def pairs(turns: Sequence[Turn], peer: str) -> list[Pair]:
    """Round by round, where both turns count and the cores stayed equally far apart from one to the other."""
    by_round: dict[int, dict[str, Turn]] = {}
    for turn in turns:
        if turn.problem is None:
            by_round.setdefault(turn.round, {})[turn.tool] = turn
    both = [Pair(at["weigh"], at[peer]) for _, at in sorted(by_round.items()) if "weigh" in at and peer in at]
    return [pair for pair in both if alike(pair.apart_ns)]


def ratios(turns: Sequence[Turn], peer: str, figure: Figure) -> list[float]:
    """`weigh` over the peer for each pair that has the figure."""
    return [ratio for pair in pairs(turns, peer) if (ratio := pair.ratio(figure)) is not None]


def summarise(case: Case, turns: Sequence[Turn], tools: Sequence[str]) -> dict[str, Any]:
    """A case as it is written and shown."""
    counting = [turn for turn in turns if turn.problem is None]
    return {
        "name": case.name,
        "title": case.title,
        "server": case.server,
        "rate": case.rate,
        "tools": {tool: _of_tool(case, [turn for turn in counting if turn.tool == tool]) for tool in tools},
        "ratios": {peer: _against(case, turns, peer) for peer in tools if peer != "weigh"} if "weigh" in tools else {},
        "apart_ns": groups(distance for turn in turns for distance in turn.apart_ns if distance),
        "goals": [_goal(goal, turns) for goal in case.goals if goal.peer in tools and "weigh" in tools]
        + [_own_goal(goal, counting) for goal in case.own_goals],
        "problems": _said(turns, "problem"),
        "remarks": _said(turns, "remark"),
        "turns": [dataclasses.asdict(turn) for turn in turns],
    }


def _own_goal(goal: OwnGoal, turns: Sequence[Turn]) -> dict[str, Any]:
    mine = [turn for turn in turns if turn.tool == "weigh"]
    values = [turn.lag_p99_us if goal.figure == "lag_p99_us" else turn.achieved for turn in mine]
    spread = Spread.of([value for value in values if value is not None])
    return {
        "peer": None,
        "figure": goal.figure,
        "bound": goal.bound,
        "median": spread.median if spread else None,
        "met": goal.met(spread.median) if spread else None,
    }


def _of_tool(case: Case, turns: Sequence[Turn]) -> dict[str, Any]:
    figures: dict[str, Any] = {
        figure.value: _spread(value for turn in turns if (value := turn.figure(figure)) is not None)
        for figure in Figure
    }
    figures["lag_p99_us"] = _spread(turn.lag_p99_us for turn in turns if turn.lag_p99_us is not None)
    figures["uncounted_us"] = _spread(gap for turn in turns if (gap := uncounted(case, turn)) is not None)
    figures["achieved"] = _spread(turn.achieved for turn in turns if turn.achieved) if case.rate else None
    figures["counts"] = "as the server's" if turns and all(turn.served is not None for turn in turns) else "its own"
    return figures


def uncounted(case: Case, turn: Turn) -> float | None:
    """Time of each request that is in none of the tool's latencies: a closed loop always has its connections' number of
    requests under way, so that by Little's law the time from one reply to the next on a connection is connections over
    rate, and what the mean latency leaves of it the tool did not count."""
    if case.rate or turn.mean_us is None or not turn.rate:
        return None
    return case.connections * case.in_flight / turn.rate * 1e6 - turn.mean_us


def _spread(values: Iterable[float]) -> dict[str, float] | None:
    spread = Spread.of(list(values))
    return dataclasses.asdict(spread) if spread else None


def _against(case: Case, turns: Sequence[Turn], peer: str) -> dict[str, Any]:
    # Rates of open load are the schedule's, and equal.
    figures = [figure for figure in Figure if not (case.rate and figure is Figure.RATE)]
    counting = pairs(turns, peer)
    rounds = {turn.round for turn in turns if turn.tool == peer}
    distances = groups(distance for pair in counting for distance in pair.apart_ns)

    def of(chosen: Sequence[Pair]) -> dict[str, Any]:
        said = {each.value: [ratio for pair in chosen if (ratio := pair.ratio(each)) is not None] for each in figures}
        return {"rounds": len(chosen), **{name: _spread(values) for name, values in said.items()}}

    def within(least: float, most: float) -> list[Pair]:
        return [pair for pair in counting if pair.apart_ns and least <= min(pair.apart_ns) <= most]

    by_distance = [{"apart_ns": [least, most], **of(within(least, most))} for least, most in distances]
    return {**of(counting), "of_rounds": len(rounds), "by_distance": by_distance}


def _goal(goal: Goal, turns: Sequence[Turn]) -> dict[str, Any]:
    spread = Spread.of(ratios(turns, goal.peer, goal.figure))
    return {
        "peer": goal.peer,
        "figure": goal.figure.value,
        "bound": goal.bound,
        "median": spread.median if spread else None,
        "met": goal.met(spread.median) if spread else None,
    }


def _said(turns: Sequence[Turn], what: str) -> list[str]:
    """Problems or remarks: each tool's first, with the number of turns that had one."""
    by_tool: dict[str, list[str]] = {}
    for turn in turns:
        if text := getattr(turn, what):
            by_tool.setdefault(turn.tool, []).append(text)
    counts = {tool: sum(1 for turn in turns if turn.tool == tool) for tool in by_tool}
    return [f"{tool}, {len(texts)} of {counts[tool]} turns, first: {texts[0]}" for tool, texts in by_tool.items()]
