"""From tries to Markdown. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .cases import FALSE_ALARMS_MOST, Case
from .rivals import SECONDS, need
from .tries import Try

if TYPE_CHECKING:
    from .book import Book


def render(book: Book, cases: Sequence[Case]) -> str:
    """Every table for which something was found."""
    same = [(case, book.tries(case)) for case in cases if case.effect == 0.0 and book.tries(case)]
    planted = [(case, book.tries(case)) for case in cases if case.effect > 0.0 and book.tries(case)]
    parts = [_host(book), _same(same) if same else "", _planted(planted) if planted else "", _rivals(book, cases)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _host(book: Book) -> str:
    last = [line for line in book.lines if line["kind"] == "host"][-1:]
    if not last:
        return ""
    facts = last[0]
    virtual = "virtual" if facts["virtual"] else "physical"
    return (
        f"{facts['at'][:10]}, {facts['cpu']} ({virtual}), {facts['cores']} cores, kernel {facts['kernel']}, "
        f"revision {facts['revision']}."
    )


def _same(found: Sequence[tuple[Case, list[Try]]]) -> str:
    head = [
        "",
        "runs",
        "interval excludes 0",
        "half-width, median",
        "windows, s",
        "lead-ins, s",
        "warm-ups, s",
        "whole run, s",
        "not valid",
    ]
    rows = [[case.title, *_account(tries)] for case, tries in found]
    everything = [one for _, tries in found for one in tries]
    rows.append([f"all (goal: at most {FALSE_ALARMS_MOST} of 200)", *_account(everything)])
    return _table(head, rows)


def _account(tries: Sequence[Try]) -> list[str]:
    alarms = sum(one.excludes_0 for one in tries)
    return [str(len(tries)), f"{alarms} ({alarms / len(tries):.1%})", _half(tries), *_times(tries)]


def _planted(found: Sequence[tuple[Case, list[Try]]]) -> str:
    head = [
        "planted",
        "added",
        "baseline, median [range]",
        "found",
        "goal",
        "cost, median [range]",
        "half-width, median",
    ]
    head += ["windows, s", "lead-ins, s", "warm-ups, s", "whole run, s", "not valid"]
    rows = []
    for case, tries in found:
        bases = [one.baseline_ns / 1e3 for one in tries if one.baseline_ns]
        points = [one.point - 1 for one in tries if one.point is not None]
        cost = f"{statistics.median(points):+.2%} [{min(points):+.2%}, {max(points):+.2%}]" if points else "–"
        base = f"{statistics.median(bases):.1f} µs [{min(bases):.1f}, {max(bases):.1f}]"
        hits = f"{sum(one.found for one in tries)} of {len(tries)}"
        rows.append(
            [case.title, f"{tries[0].added_ns:,} ns", base, hits, case.goal, cost, _half(tries), *_times(tries)]
        )
    return _table(head, rows)


def _half(tries: Sequence[Try]) -> str:
    halves = [(one.upper - one.lower) / 2 for one in tries if one.upper is not None and one.lower is not None]
    return f"±{statistics.median(halves):.2%}" if halves else "–"


def _times(tries: Sequence[Try]) -> list[str]:
    """Windows at most, lead-ins, warm-ups and the whole run by their medians, and how many runs were not valid."""
    medians = [statistics.median(getattr(one, name) for one in tries) for name in ("lead_in", "warm_up", "took")]
    most = max(one.windows for one in tries)
    return [
        f"at most {most:.1f}",
        *(f"{value:.1f}" for value in medians),
        str(sum(one.validity == "invalid" for one in tries)),
    ]


def _rivals(book: Book, cases: Sequence[Case]) -> str:
    head = [
        "planted",
        "tool",
        "figure",
        f"pairs of {SECONDS} s runs",
        "cost, median",
        "deviation of a pair",
        "runs of this kind would need",
    ]
    rows = []
    for case in (case for case in cases if case.effect > 0.0):
        pairs = book.of("pair", case)
        for tool in sorted({pair["tool"] for pair in pairs}):
            mine = [pair for pair in pairs if pair["tool"] == tool]
            rows += [_need(case, tool, name, figure, mine) for name, figure in _figures(case)]
    return _table(head, rows) if rows else ""


def _figures(case: Case) -> list[tuple[str, str]]:
    return [(case.quantity.removeprefix("response "), "quantile_us")] + (
        [("time per request (1/rate)", "rate")] if "p50" in case.quantity else []
    )


def _need(case: Case, tool: str, name: str, figure: str, pairs: Sequence[dict[str, Any]]) -> list[str]:
    ratios = [pair[figure][1] / pair[figure][0] for pair in pairs]
    if figure == "rate":
        ratios = [1 / ratio for ratio in ratios]
    said = need(ratios, case.effect)
    if said.deviation is None:
        long = "nothing can be said: one pair tells no spread"
    elif said.seconds is None:
        long = "nothing can be said: all pairs gave the same" if said.deviation == 0 else "more than a year"
    else:
        minutes = said.seconds / 60
        long = f"{minutes / 60:.1f} h" if minutes >= 120 else f"{minutes:.0f} min"
        long += f" ({said.needed} pairs)"
    return [
        case.title,
        tool,
        name,
        str(said.pairs),
        f"{said.median - 1:+.2%}",
        "–" if said.deviation is None else f"{said.deviation:.2%}",
        long,
    ]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
