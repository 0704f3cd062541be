"""Carries a case out: server up, every tool in turn in fresh random order, round after round, counts held together."""

from __future__ import annotations

import dataclasses
import pathlib
import random
import sys
from collections.abc import Sequence

from .apart import Apart, alike
from .cases import Case
from .figures import Turn
from .host import Steal
from .measure import CommandError, Finished, Group, run
from .servers import Server, Setting, start
from .tools import Job, Outcome, ParseError, Tool

# A tool gets its time and this for starting, stopping and counting.
GRACE_SECONDS = 30.0

# A turn under which the cores moved apart or together is taken again so often, then left as it is.
TRIES = 3


@dataclasses.dataclass(frozen=True)
class Plan:
    """How long and how often. The warm-up is a run of the same tool before each turn; 0 is none."""

    rounds: int
    seconds: int
    warmup: int
    seed: int


class TurnTaker:
    """Runs the tools of one case against its server."""

    def __init__(
        self,
        case: Case,
        server: Server,
        plan: Plan,
        folder: pathlib.Path,
        apart: Apart,
        group: Group | None,
    ) -> None:
        self.case = case
        self.server = server
        self.plan = plan
        self.folder = folder
        self.apart = apart
        self.group = group
        self.reached: dict[str, float] = {}

    def turn(self, number: int, tool: Tool) -> Turn:
        """A warm-up and a measured run. What goes wrong makes a turn with a problem, not an end of everything."""
        try:
            if self.plan.warmup:
                self._go(tool, self.plan.warmup)
            for _ in range(TRIES):
                steal, before, distance = Steal(set(self.apart.cores)), self.server.served(), self.apart.measure()
                output, outcome = self._go(tool, self.plan.seconds)
                after, apart = self.server.served(), (distance, self.apart.measure())
                if alike(apart):
                    break
        except (CommandError, ParseError, OSError, ValueError, KeyError) as error:
            return failed(number, tool.name, str(error) or type(error).__name__)
        served = after - before if before is not None and after is not None else None
        problem = trouble(outcome, served, tool.slack(self.case))
        return taken(number, tool.name, output, outcome, (served, steal.share(), apart), problem)

    def _go(self, tool: Tool, seconds: int) -> tuple[Finished, Outcome]:
        job = Job(self.case, self.server.target, seconds, self.folder, self.reached.get(tool.name))
        output = run(tool.command(job), self.apart.cores[1], seconds + GRACE_SECONDS, self.group)
        output.expect(*tool.codes)
        outcome = tool.parse(output, job)
        self.reached[tool.name] = outcome.rate
        return output, outcome


def trouble(outcome: Outcome, served: int | None, slack: int) -> str | None:
    """Why a turn does not count: errors, nothing done, or counts of tool and server that do not go together."""
    if outcome.errors:
        return f"{outcome.errors} errors beside {outcome.requests} requests"
    if outcome.requests == 0:
        return "no request was completed"
    if served is not None and not 0 <= served - outcome.requests <= slack:
        return f"it counted {outcome.requests} requests, the server {served}; up to {slack} may be cut off at the end"
    return None


def taken(
    number: int,
    tool: str,
    output: Finished,
    outcome: Outcome,
    around: tuple[int | None, float, tuple[float | None, float | None]],
    problem: str | None,
) -> Turn:
    """`around` is what the server counted, the share of time stolen, and the cores' distance before and after."""
    served, steal, apart = around
    return Turn(
        round=number,
        tool=tool,
        requests=outcome.requests,
        errors=outcome.errors,
        served=served,
        seconds=outcome.seconds,
        wall=output.wall,
        cpu=output.cpu,
        cpu_waited=output.cpu_waited,
        cpu_group=output.cpu_group,
        rate=outcome.rate,
        per_cpu=outcome.requests / output.cpu,
        mean_us=outcome.mean_us,
        p50_us=outcome.p50_us,
        p99_us=outcome.p99_us,
        offered=outcome.offered,
        lag_p99_us=outcome.lag_p99_us,
        steal=steal,
        apart_ns=apart,
        remark=outcome.remark,
        problem=problem,
    )


def failed(number: int, tool: str, why: str) -> Turn:
    """A turn that brought nothing but its reason."""
    numbers = {field.name: 0 for field in dataclasses.fields(Turn)}
    nothing = dict.fromkeys(("served", "cpu_group", "mean_us", "p50_us", "p99_us", "offered", "lag_p99_us", "remark"))
    own = {"apart_ns": (None, None), "round": number, "tool": tool, "problem": why}
    return Turn(**{**numbers, **nothing, **own})  # type: ignore[arg-type]


def carry_out(
    case: Case, tools: Sequence[Tool], plan: Plan, setting: Setting, apart: Apart, group: Group | None
) -> list[Turn]:
    """All rounds of a case. A tool whose first two turns fail is left out of the rest."""
    # One stream for each case, so that a case alone is ordered as it is among others.
    shuffle = random.Random(f"{plan.seed}/{case.name}")
    turns: list[Turn] = []
    with start(case, setting) as server:
        taker = TurnTaker(case, server, plan, setting.folder, apart, group)
        for number in range(plan.rounds):
            order = [tool for tool in tools if not hopeless(tool.name, turns)]
            shuffle.shuffle(order)
            for tool in order:
                turn = taker.turn(number, tool)
                turns.append(turn)
                print(progress(case, plan, turn), file=sys.stderr, flush=True)
    return turns


def hopeless(tool: str, turns: Sequence[Turn]) -> bool:
    mine = [turn for turn in turns if turn.tool == tool]
    return len(mine) >= 2 and all(turn.requests == 0 for turn in mine)


def progress(case: Case, plan: Plan, turn: Turn) -> str:
    said = turn.problem or f"{turn.per_cpu:,.0f} requests per CPU second, {turn.rate:,.0f} per second"
    return f"peers: {case.name} {turn.round + 1}/{plan.rounds} {turn.tool}: {said}"
