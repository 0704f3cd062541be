"""The command `peers/trust/soak`: what may be typed, and the way from there to a table, a drawing and a verdict."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import signal
import sys
from collections.abc import Sequence

from compare import host

from .cases import BLOCKS
from .chart import draw
from .record import read
from .render import render
from .sitting import SoakError, sitting

ROOT = pathlib.Path(__file__).resolve().parents[2]
FINE, NOT_FLAT, COULD_NOT = 0, 1, 2


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"`{text}` is not a whole number from 1 on")
    return int(text)


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="peers/trust/soak",
        description="Keeps `weigh load` on sixteen servers that misbehave, `weigh serve` and a long `weigh run` going, and "
        "reports whether their memory and descriptors stay what they are.",
        epilog="Exit code 1 says that something was not flat. Ctrl-C ends all that was started.",
    )
    add = parser.add_argument
    add("--minutes", type=_count, default=60, help="[60]")
    add("--blocks", type=_count, default=BLOCKS, help=f"of the run [{BLOCKS}]")
    add("--every", type=_count, default=5, metavar="SECONDS", help="between two looks at the processes [5]")
    add("--out", type=pathlib.Path, metavar="FILE", help="one line a look and process [peers/results/soak.jsonl]")
    add("--draw", type=pathlib.Path, metavar="FILE", help="the drawing, as SVG [beside --out]")
    add("--weigh", default=str(ROOT / "weigh"), metavar="FILE", help="the binary [./weigh]")
    add("--show", action="store_true", help="show what is in --out; starts nothing")
    return parser.parse_args(words)


def hold(options: argparse.Namespace, out: pathlib.Path) -> None:
    """Starts everything at the lowest priority, looks at it, and ends it."""
    os.setpriority(os.PRIO_PROCESS, 0, 19)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.unlink(missing_ok=True)
    weigh = str(pathlib.Path(options.weigh).resolve(strict=True))
    cores = sorted(os.sched_getaffinity(0))
    facts = {**host.facts(ROOT, cores[0], cores[-1]), "at": host.now()}
    with sitting(weigh, out, options.blocks, options.minutes * 60) as one:
        one.note({"kind": "host", **facts, "minutes": options.minutes, "blocks": options.blocks})
        one.look(options.every)
        one.finish()


def main(words: Sequence[str] | None = None) -> int:
    options = arguments(words)
    out = options.out or ROOT / "peers" / "results" / "soak.jsonl"
    try:
        if not options.show:
            hold(options, out)
        with out.open(encoding="utf-8") as file:
            record = read(json.loads(line) for line in file)
        (options.draw or out.with_suffix(".svg")).write_text(draw(record.samples), encoding="utf-8")
    except (SoakError, OSError) as error:
        print(f"soak: {error}", file=sys.stderr)
        return COULD_NOT
    except KeyboardInterrupt:
        print(f"soak: interrupted; what was seen is in {out}", file=sys.stderr)
        return COULD_NOT
    print(render(record), end="")
    return NOT_FLAT if record.problems() else FINE


__all__ = ["main"]
