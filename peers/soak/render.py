"""From a soak's record to Markdown. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .figures import DESCRIPTORS, MEMORY_KIB, MEMORY_SHARE, Course, Held
from .record import Growth, Record

MIB = 1024.0


def render(record: Record) -> str:
    """Host, rule, processes, counts, the long run, verdict."""
    parts = [_host(record.host), rule(), _table(record.held), _loads(record), _visitors(record), _run(record)]
    return "\n\n".join(part for part in [*parts, verdict(record)] if part) + "\n"


def rule() -> str:
    """The rule of the verdict, in words."""
    return (
        f"Flat: the last quarter's median of resident memory is at most {MEMORY_KIB / MIB:g} MiB or {MEMORY_SHARE:.0%} above "
        f"the second quarter's, that of descriptors at most {DESCRIPTORS}. Loads and servers that ended early are not. The "
        "run keeps its trials: it may grow by what it writes per block, and no more."
    )


def _host(facts: dict[str, Any]) -> str:
    if not facts:
        return ""
    virtual = "virtual" if facts["virtual"] else "physical"
    return (
        f"{facts['at'][:10]}, {facts['cpu']} ({virtual}), {facts['cores']} cores, kernel {facts['kernel']}, "
        f"{facts['minutes']} minutes, started at nice 19."
    )


def _mib(value: float) -> str:
    return f"{value / MIB:.1f}"


def _count(value: float) -> str:
    return f"{value:g}"


def _course(course: Course, said: Callable[[float], str]) -> list[str]:
    slope = course.slope
    drift = f"{said(slope.point)} [{said(slope.lower)}, {said(slope.upper)}]" if slope else "–"
    return [said(course.quarters[0]), said(course.quarters[1]), said(course.quarters[3]), said(course.most), drift]


def _table(held: Sequence[Held]) -> str:
    head = [
        "process",
        "memory, MiB: 1st",
        "2nd",
        "last quarter",
        "most",
        "slope per hour",
        "descriptors: 2nd",
        "last",
        "most",
    ]
    rows = [
        [
            one.who,
            *_course(one.memory, _mib),
            _count(one.descriptors.quarters[1]),
            _count(one.descriptors.quarters[3]),
            _count(one.descriptors.most),
        ]
        for one in held
    ]
    return _markdown(head, rows)


def _loads(record: Record) -> str:
    rows = [[name, f"{requests:,}", said] for name, requests, said in record.loads]
    return _markdown(["load", "requests due", "failed"], rows) if rows else ""


def _visitors(record: Record) -> str:
    if not record.visitors:
        return ""
    return "Clients of `serve`: " + ", ".join(f"{count:,} {what}" for what, count in record.visitors.items()) + "."


def _run(record: Record) -> str:
    growth = record.growth
    parts = [f"The run: {record.blocks:,} blocks of {record.of:,}."] if record.of else []
    if growth:
        parts.append(f"{_growth(growth)}.")
    if record.report and record.report["code"] == 0:
        report = record.report
        parts.append(
            f"Its report: {report['seconds']} s ({report['cpu_s']} s of CPU), {report['peak_kib'] / MIB:.0f} MiB at most, "
            f"a page of {report['page_bytes'] / 1e6:.1f} MB from {report['run_bytes'] / 1e6:.0f} MB."
        )
    return " ".join(parts)


def _growth(growth: Growth) -> str:
    return (
        f"Its memory grows by {growth.kib_per_block:.1f} KiB a block [{growth.lower:.1f}, {growth.upper:.1f}], where it writes "
        f"{growth.written_kib_per_block:.1f} KiB"
    )


def verdict(record: Record) -> str:
    """One line: flat, or what was not."""
    problems = record.problems()
    return "**Not flat**: " + "; ".join(problems) + "." if problems else "**Flat.**"


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


__all__ = ["render", "rule", "verdict"]
