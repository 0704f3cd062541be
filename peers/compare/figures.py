"""From turns to figures: ratios of `weigh` to a peer in the same round, their median and spread. Pure."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from .cases import Case, Figure, Goal, OwnGoal


@dataclasses.dataclass(frozen=True)
class Turn:
    """One measured run of one tool. Times in microseconds, CPU in seconds of user and system time.

    `served` is what the server counted meanwhile. `problem` says why the turn does not count, if it does not.
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
    p50_us: float | None
    p99_us: float | None
    offered: float | None
    lag_p99_us: float | None
    steal: float
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
        if len(ordered) == 1:
            quartiles = [ordered[0]] * 3
        else:
            quartiles = statistics.quantiles(ordered, n=4, method="inclusive")
        return Spread(quartiles[1], quartiles[0], quartiles[2], ordered[0], ordered[-1], len(ordered))


def ratios(turns: Sequence[Turn], peer: str, figure: Figure) -> list[float]:
    """`weigh` over the peer, round by round, where both have the figure and both turns count."""
    by_round: dict[int, dict[str, float]] = {}
    for turn in turns:
        value = turn.figure(figure)
        if turn.problem is None and value:
            by_round.setdefault(turn.round, {})[turn.tool] = value
    pairs = (values for _, values in sorted(by_round.items()) if "weigh" in values and peer in values)
    return [values["weigh"] / values[peer] for values in pairs]


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
    figures["achieved"] = _spread(turn.achieved for turn in turns if turn.achieved) if case.rate else None
    figures["counts"] = "as the server's" if turns and all(turn.served is not None for turn in turns) else "its own"
    return figures


def _spread(values: Iterable[float]) -> dict[str, float] | None:
    spread = Spread.of(list(values))
    return dataclasses.asdict(spread) if spread else None


def _against(case: Case, turns: Sequence[Turn], peer: str) -> dict[str, Any]:
    # Rates of open load are the schedule's, and equal.
    figures = [figure for figure in Figure if not (case.rate and figure is Figure.RATE)]
    return {figure.value: _spread(ratios(turns, peer, figure)) for figure in figures}


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
