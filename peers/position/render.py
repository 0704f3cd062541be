"""From runs to Markdown. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

from differences.cases import FALSE_ALARMS_MOST, Case

from .cases import ADDED_NS, NAMES, PLANTED, QUANTITIES, SAME
from .figures import Estimate, least_squares, mean, overdispersion, share
from .tries import Cost, Try

BLOCKS = 6


def render(host: dict[str, Any] | None, tries: Sequence[Try]) -> str:
    """Every table for which something was found."""
    same = [one for one in tries if one.case == SAME.name]
    planted = [one for one in tries if one.case == PLANTED.name]
    parts = [_host(host) if host else ""]
    parts += [_alarms(same), _effects(same)] if same else []
    parts += [_planted(PLANTED, planted)] if planted else []
    return "\n\n".join(part for part in parts if part) + "\n"


def _host(facts: dict[str, Any]) -> str:
    virtual = "virtual" if facts["virtual"] else "physical"
    return (
        f"{facts['at'][:10]}, {facts['cpu']} ({virtual}), {facts['cores']} cores, kernel {facts['kernel']}, "
        f"revision {facts['revision']}."
    )


def _costs(tries: Sequence[Try], quantity: str) -> list[Cost]:
    return [one.costs[quantity] for one in tries if quantity in one.costs]


def _alarms(tries: Sequence[Try]) -> str:
    head = [
        "second over first",
        "runs",
        "interval excludes 0",
        "exact 95 % interval",
        "mean cost",
        "half-width, median",
    ]
    head += ["runs' spread over what their blocks say"]
    rows = []
    for quantity in QUANTITIES:
        costs = _costs(tries, quantity)
        if not costs:
            continue
        alarms = sum(cost.excludes_0 for cost in costs)
        exact = share(alarms, len(costs))
        logs = [math.log(cost.point) for cost in costs]
        halves = [math.log(cost.upper / cost.lower) / 2 for cost in costs]
        spread = overdispersion(logs, halves, BLOCKS)
        rows.append(
            [
                quantity,
                str(len(costs)),
                str(alarms),
                f"{exact.lower:.1%} to {exact.upper:.1%}",
                _said(mean(logs)),
                f"±{statistics.median(halves):.2%}",
                "–" if spread is None else f"{spread:.2f}",
            ]
        )
    goal = f"Goal: of 200 runs at most {FALSE_ALARMS_MOST} exclude 0, of each quantity; the mean of p50 within ±0.03 %."
    return _table(head, rows) + "\n\n" + goal


def _effects(tries: Sequence[Try]) -> str:
    """Each effect by itself. The logarithm of a run's ratio is the sum of the position's effect and of those of name,
    copy and port, each taken with the sign of who has it."""
    head = ["effect", "of", *QUANTITIES]
    columns = []
    for quantity in QUANTITIES:
        having = [one for one in tries if quantity in one.costs]
        rows = [[1.0, float(one.setup.name), float(one.setup.copy), float(one.setup.port)] for one in having]
        found = least_squares(rows, [math.log(one.costs[quantity].point) for one in having])
        columns.append([_said(effect) for effect in found] if found else ["–"] * 4)
    names = [
        ("position", "the second over the first"),
        ("name", f"`{NAMES[1]}` over `{NAMES[0]}`"),
        ("copy", "one copy of the binary over the other"),
        ("port", "the higher of two fixed ports over the lower"),
    ]
    shown = [[name, what, *(column[at] for column in columns)] for at, (name, what) in enumerate(names)]
    return _table(head, shown)


def _planted(case: Case, tries: Sequence[Try]) -> str:
    costs = [one.costs[case.quantity] for one in tries if case.quantity in one.costs]
    found = sum(cost.lower > 1.0 for cost in costs)
    both = [(one.difference_ns, one.truth_ns) for one in tries]
    known = [(seen, truth) for seen, truth in both if seen is not None and truth is not None]
    seen, truth = (mean([pair[side] for pair in known]) for side in (0, 1))
    ratio = f"{seen.point / truth.point:.3f}" if seen and truth else "–"
    head = ["planted", "found", "goal", "mean difference", "by the probes' records", "ratio", "half-width, median"]
    half = statistics.median((cost.upper - cost.lower) / 2 for cost in costs) if costs else None
    row = [f"{ADDED_NS[case.name]} ns", f"{found} of {len(tries)}", case.goal, _time(seen), _time(truth), ratio]
    return _table(head, [[*row, "–" if half is None else f"±{half:.2%}"]])


def _said(found: Estimate | None) -> str:
    return "–" if found is None else f"{found.point:+.3%} [{found.lower:+.3%}, {found.upper:+.3%}]"


def _time(found: Estimate | None) -> str:
    return "–" if found is None else f"{found.point:.1f} ns [{found.lower:.1f}, {found.upper:.1f}]"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
