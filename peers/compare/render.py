"""A result as text, Markdown or JSON. Takes the result as it is kept on disk, so that an old one can be shown again.

Shows; computes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

Rows = list[list[str]]

_DISTANCE = (
    "*Cores apart* is the round trip of a cache line between the server's core and the client's, before and after each "
    "turn; a round counts for a pair where it stayed the same for both."
)
_UNCOUNTED = (
    "*Uncounted* is connections × in flight / rate (Little's law: the time from one reply to the next) less the mean latency "
    "that the tool says: what a request waits in the tool and is in none of its latencies."
)


def render(result: dict[str, Any], form: str) -> str:
    if form == "json":
        return json.dumps(result, indent=2)
    table = _markdown_table if form == "markdown" else _text_table
    parts = [_host_line(result), _settings_line(result)]
    for heading, note, rows in _sections(result):
        title = f"### {heading}" if form == "markdown" else heading.upper()
        parts += [title, *([note] if note else []), table(rows)]
    return "\n\n".join(parts)


def _host_line(result: dict[str, Any]) -> str:
    host = result["host"]
    virtual = ", virtual" if host["virtual"] else ""
    governor = f", governor {host['governor']}" if host["governor"] else ""
    # Results of before it was held say nothing of it.
    idle = {True: ", idle cores kept awake", False: ", idle cores as the host has them", None: ""}[
        host.get("idle_polls")
    ]
    return (
        f"{result['date'][:10]}, {host['cpu']}{virtual}, {host['cores']} cores, Linux {host['kernel']}, "
        f"clock source {host['clock_source']}{governor}{idle}, weigh {host['revision'] or '(no revision)'}."
    )


def _settings_line(result: dict[str, Any]) -> str:
    settings = result["settings"]
    steal = f"{result['steal']:.1%}" if result["steal"] is not None else "?"
    versions = "; ".join(f"{name}: {version}" for name, version in result["tools"].items() if name != "weigh")
    return (
        f"{settings['rounds']} rounds × {settings['seconds']} s after {settings['warmup']} s of warm-up, seed "
        f"{settings['seed']}, server on core {result['host']['server_core']}, clients on core "
        f"{result['host']['client_core']}, {steal} of both cores' time stolen. {versions}."
    )


def _sections(result: dict[str, Any]) -> list[tuple[str, str, Rows]]:
    cases = result["cases"]
    closed = [case for case in cases if not case["rate"]]
    opened = [case for case in cases if case["rate"]]
    spread = "Median of the rounds' ratios [quartiles] (range)."
    candidates = [
        ("Cases", "", _cases(cases)),
        (
            "weigh / peer",
            f"{spread} Above 1 is better in the first two columns, below 1 in the others. {_DISTANCE}",
            _ratios(closed),
        ),
        ("Goals", "Medians of the rounds.", _goals(cases)),
        ("Each tool", f"Medians [quartiles]. {_UNCOUNTED}", _absolute(closed)),
        ("Open load", "Medians [quartiles].", _open(opened)),
        ("Open load, weigh / peer", f"{spread} Below 1 is better for latencies.", _ratios(opened)),
        ("Turns that do not count", "", [["case", "what"], *_lines(cases, "problems")]),
        ("What the tools say of their own figures", "", [["case", "what"], *_lines(cases, "remarks")]),
        ("Not measured", "", [["what", "why"], *([row["what"], row["why"]] for row in result["unavailable"])]),
    ]
    return [(heading, note, rows) for heading, note, rows in candidates if len(rows) > 1]


def _lines(cases: Sequence[dict[str, Any]], key: str) -> Rows:
    return [[case["name"], line] for case in cases for line in case[key]]


def _cases(cases: Sequence[dict[str, Any]]) -> Rows:
    return [["case", "server", "load"], *([case["name"], case["server"], case["title"]] for case in cases)]


def _ratios(cases: Sequence[dict[str, Any]]) -> Rows:
    head = ["case", "peer", "cores apart", "requests per CPU second", "requests per second", "p50", "p99", "rounds"]
    rows = [head]
    for case in cases:
        for peer, figures in case["ratios"].items():
            parts = figures["by_distance"]
            if len(parts) != 1:
                rows.append([case["name"], peer, "any" if parts else "?", *_ratio_cells(figures, figures["of_rounds"])])
            for part in parts:
                rows.append([case["name"], peer, _apart(part["apart_ns"]), *_ratio_cells(part, figures["of_rounds"])])
    return rows


def _ratio_cells(figures: dict[str, Any], of_rounds: int) -> list[str]:
    cells = [_full(figures.get(name)) for name in ("per_cpu", "rate", "p50_us", "p99_us")]
    return [*cells, f"{figures['rounds']} of {of_rounds}"]


def _apart(distance: Sequence[float]) -> str:
    least, most = (f"{value:.0f}" for value in distance)
    return f"{least} ns" if least == most else f"{least}–{most} ns"


def _goals(cases: Sequence[dict[str, Any]]) -> Rows:
    words = {
        "per_cpu": "requests per CPU second",
        "rate": "requests per second",
        "p50_us": "p50",
        "p99_us": "p99",
        "achieved": "achieved / due",
        "lag_p99_us": "lag p99 (µs)",
    }
    rows = [["case", "goal", "reached", "verdict"]]
    for case in cases:
        for goal in case["goals"]:
            sign = "≤" if goal["figure"].endswith("_us") else "≥"
            verdict = {True: "met", False: "missed", None: "not measured"}[goal["met"]]
            reached = f"{goal['median']:.4g}" if goal["median"] is not None else "–"
            measure = f"{words[goal['figure']]} {sign} {goal['bound']}{' × ' + goal['peer'] if goal['peer'] else ''}"
            rows.append([case["name"], measure, reached, verdict])
    return rows


def _absolute(cases: Sequence[dict[str, Any]]) -> Rows:
    rows = [
        [
            "case",
            "tool",
            "requests per CPU second",
            "requests per second",
            "p50 (µs)",
            "p99 (µs)",
            "uncounted (µs)",
            "counts",
        ]
    ]
    for case in cases:
        for tool, figures in case["tools"].items():
            whole = [_middle(figures[name], "{:,.0f}") for name in ("per_cpu", "rate")]
            times = [_middle(figures[name], "{:,.1f}") for name in ("p50_us", "p99_us", "uncounted_us")]
            rows.append([case["name"], tool, *whole, *times, figures["counts"]])
    return rows


def _open(cases: Sequence[dict[str, Any]]) -> Rows:
    rows = [["case", "tool", "achieved / due", "lag p99 (µs)", "p50 (µs)", "p99 (µs)", "requests per CPU second"]]
    for case in cases:
        for tool, figures in case["tools"].items():
            times = [_middle(figures[name], "{:,.1f}") for name in ("lag_p99_us", "p50_us", "p99_us")]
            achieved = _middle(figures["achieved"], "{:.4f}")
            rows.append([case["name"], tool, achieved, *times, _middle(figures["per_cpu"], "{:,.0f}")])
    return rows


def _full(spread: dict[str, float] | None) -> str:
    if not spread:
        return "–"
    return (
        f"{spread['median']:.2f} [{spread['lower']:.2f}, {spread['upper']:.2f}] "
        f"({spread['least']:.2f}–{spread['most']:.2f})"
    )


def _middle(spread: dict[str, float] | None, form: str) -> str:
    if not spread:
        return "–"
    say: Callable[[float], str] = form.format
    return f"{say(spread['median'])} [{say(spread['lower'])}, {say(spread['upper'])}]"


def _markdown_table(rows: Rows) -> str:
    escaped = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    lines = ["| " + " | ".join(row) + " |" for row in escaped]
    return "\n".join([lines[0], "| --- " * len(rows[0]) + "|", *lines[1:]])


def _text_table(rows: Rows) -> str:
    # The last column may be long, and is not padded.
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    padded = ([cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=True)] + [row[-1]] for row in rows)
    return "\n".join("  ".join(row).rstrip() for row in padded)
