"""From sittings to Markdown. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

from .cases import NAMES, Case
from .figures import Estimate, Unit, deviation_ratio, median

HEAD = ["setting", "program", "plain", "changed", "p50 plain", "p50", "mean", "CPU a request", "memory", "units"]
STARTS = ["setting", "program", "two starts differ by, plain", "changed", "ratio", "blocks"]


def units(sittings: Sequence[dict[str, Any]]) -> list[Unit]:
    return [Unit(**one) for sitting in sittings for one in sitting["units"]]


def costs(case: Case, found: Sequence[Unit]) -> list[str]:
    """A row: what the change costs, as the median over blocks or pairs of loads."""
    level = statistics.median(one.plain_p50_ns for one in found) / 1000
    cells = [cost(median([one.p50 for one in found])), cost(median([one.mean for one in found]))]
    for values in ([one.cpu for one in found], [one.memory for one in found]):
        known = [value for value in values if value is not None]
        cells.append(cost(median(known)) if len(known) == len(found) else "–")
    return [case.setting, NAMES[case.program], case.plain, case.changed, f"{level:.1f} µs", *cells, str(len(found))]


def starts(case: Case, found: Sequence[Unit]) -> list[str] | None:
    """A row: what two starts differ by, as a standard deviation of one start."""
    plain = [one.plain_starts for one in found if one.plain_starts is not None]
    changed = [one.changed_starts for one in found if one.changed_starts is not None]
    ratio = deviation_ratio(plain, changed)
    if ratio is None:
        return None
    spread = [f"{statistics.stdev(each) / math.sqrt(2):.2%}" for each in (plain, changed)]
    bounds = f"{ratio.point:.2f} [{ratio.lower:.2f}, {ratio.upper:.2f}]"
    return [case.setting, NAMES[case.program], *spread, bounds, str(len(plain))]


def cost(found: Estimate | None) -> str:
    if found is None:
        return "–"
    shares = found.mapped(math.expm1)
    return f"{shares.point:+.1%} [{shares.lower:+.1%}, {shares.upper:+.1%}]".replace("-", "−")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def render(found: Sequence[tuple[Case, Sequence[dict[str, Any]]]]) -> str:
    """Every table for which something was found."""
    known = [(case, units(sittings)) for case, sittings in found if units(sittings)]
    parts = [table(HEAD, [costs(case, each) for case, each in known])] if known else []
    spreads = [row for case, each in known if (row := starts(case, each))]
    parts += [table(STARTS, spreads)] if spreads else []
    rates = [[case.name, *(_rates(sitting) for sitting in sittings[-1:])] for case, sittings in found if sittings]
    parts += [table(["case", "interrupts of devices a second, by core"], rates)] if rates else []
    return "\n\n".join(parts) + "\n"


def _rates(sitting: dict[str, Any]) -> str:
    return ", ".join(f"{core}: {rate:.0f}" for core, rate in sitting["interrupts_per_s"].items())
