"""A drawing of a soak: memory and descriptors over time, as SVG that a browser shows in light and dark. Pure."""

from __future__ import annotations

import dataclasses
import html
import math
import statistics
from collections.abc import Callable, Mapping, Sequence

from .figures import Points, pieces
from .sample import Sample

WIDTH, PANEL, GAP, LEFT, RIGHT, TOP = 860, 190, 62, 62, 128, 34
STEPS = 120
MIB = 1024.0
LABEL = "Memory and descriptors of each process over time"


@dataclasses.dataclass(frozen=True)
class Kind:
    """Processes that are drawn alike."""

    name: str
    label: str
    light: str
    dark: str
    line: float


KINDS = (
    Kind("hostile", "servers", "#7a828a", "#8b949d", 1.0),
    Kind("load", "load", "#0b5fa5", "#6cb2f0", 1.0),
    Kind("serve", "serve", "#b34700", "#ff9b57", 1.8),
    Kind("run", "run", "#00735a", "#4cc6a4", 1.8),
)


@dataclasses.dataclass(frozen=True)
class Panel:
    """One figure of some kinds."""

    title: str
    kinds: tuple[str, ...]
    figure: Callable[[Sample], float]


PANELS = (
    Panel(
        "Resident memory of loads and of servers that misbehave, MiB", ("hostile", "load"), lambda s: s.rss_kib / MIB
    ),
    Panel("Resident memory of serve and of the run, MiB", ("serve", "run"), lambda s: s.rss_kib / MIB),
    Panel("Open descriptors", ("hostile", "load", "serve", "run"), lambda s: float(s.descriptors)),
)

STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#16191d}.q{fill:#5b636b}.g{stroke:#dde1e6}path{fill:none;opacity:.85}"
    "rect{fill:#fff}"
)


def nice(most: float) -> float:
    """The step of an axis from 0 to `most` with 3 to 6 steps: 1, 2 or 5 times a power of ten."""
    rough = max(most, 1e-9) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough)


def _style() -> str:
    dark = "@media(prefers-color-scheme:dark){text{fill:#e7eaed}.q{fill:#9aa3ac}.g{stroke:#333a42}rect{fill:#121518}"
    light = "".join(f".{kind.name}{{stroke:{kind.light};stroke-width:{kind.line}}}" for kind in KINDS)
    dark += "".join(f".{kind.name}{{stroke:{kind.dark}}}" for kind in KINDS) + "}"
    return STYLE + light + dark


def _thinned(points: Points) -> list[tuple[float, float]]:
    """Medians of short spans: what is drawn has as many points as can be seen."""
    return [
        (statistics.fmean(at for at, _ in span), statistics.median(value for _, value in span))
        for span in pieces(points, STEPS)
    ]


def _panel(panel: Panel, by_process: Mapping[str, Sequence[Sample]], top: int, until: float) -> list[str]:
    lines = {
        who: _thinned([(sample.at, panel.figure(sample)) for sample in samples])
        for who, samples in by_process.items()
        if who.split()[0] in panel.kinds
    }
    most = max((value for line in lines.values() for _, value in line), default=1.0)
    step = nice(most)
    high = step * math.ceil(most / step)

    def x(at: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * at / until

    def y(value: float) -> float:
        return top + PANEL * (1 - value / high)

    out = [f'<text x="{LEFT}" y="{top - 12}">{html.escape(panel.title)}</text>']
    for at in range(round(high / step) + 1):
        value = at * step
        out.append(f'<path class="g" d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}"/>')
        out.append(f'<text class="q" x="{LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value:g}</text>')
    minutes = nice(until / 60)
    for at in range(int(until / 60 / minutes) + 1):
        place = x(at * minutes * 60)
        out.append(
            f'<text class="q" x="{place:.1f}" y="{top + PANEL + 18}" text-anchor="middle">{at * minutes:g} min</text>'
        )
    for who, line in lines.items():
        path = "L".join(f"{x(at):.1f} {y(value):.1f}" for at, value in line)
        out.append(f'<path class="{who.split()[0]}" d="M{path}"><title>{html.escape(who)}</title></path>')
    return out + _labels(panel, lines, y)


def _labels(panel: Panel, lines: Mapping[str, Points], y: Callable[[float], float]) -> list[str]:
    """Names of kinds at the right, where their lines end, moved apart where they are close."""
    ends = []
    for kind in KINDS:
        values = [line[-1][1] for who, line in lines.items() if who.split()[0] == kind.name and line]
        if values:
            count = f" ({len(values)})" if len(values) > 1 else ""
            ends.append((y(statistics.median(values)), kind, kind.label + count))
    out, below = [], -math.inf
    for place, kind, text in sorted(ends, key=lambda end: end[0]):
        below = max(place, below + 15)
        left = WIDTH - RIGHT + 8
        out.append(f'<path class="{kind.name}" d="M{left} {below:.1f}h14"/>')
        out.append(f'<text x="{left + 19}" y="{below + 4:.1f}">{text}</text>')
    return out


def draw(by_process: Mapping[str, Sequence[Sample]]) -> str:
    """The whole drawing; processes by name, whose first word is their kind."""
    until = max((sample.at for samples in by_process.values() for sample in samples), default=1.0)
    height = TOP + len(PANELS) * (PANEL + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{LABEL}">',
        f"<style>{_style()}</style>",
        f'<rect width="{WIDTH}" height="{height}"/>',
    ]
    for at, panel in enumerate(PANELS):
        parts += _panel(panel, by_process, TOP + at * (PANEL + GAP), until)
    return "\n".join([*parts, "</svg>"]) + "\n"


__all__ = ["draw", "nice"]
