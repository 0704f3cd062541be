"""The command `peers/trust/differences`: what may be typed, and the way from there to tables."""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from compare import host
from compare.install import Installer, Unavailable
from compare.servers import Setting
from compare.tools import Tool
from compare.tools_http import Oha, Wrk

from . import rivals
from .book import Book, Repeated
from .cases import BY_NAME, CASES, Case
from .render import render
from .tries import Try, TryError, carry_out

ROOT = pathlib.Path(__file__).resolve().parents[2]
FINE, COULD_NOT = 0, 2
PAIRS = 8


def _at_least(least: int) -> Callable[[str], int]:
    def convert(text: str) -> int:
        if not text.isascii() or not text.isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(f"`{text}` is not a whole number from {least} on")
        return int(text)

    return convert


def _pairs(text: str) -> int:
    pairs = _at_least(0)(text)
    if pairs == 1:
        raise argparse.ArgumentTypeError("one pair tells no spread: 0 for none, or at least 2")
    return pairs


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    names = [case.name for case in CASES]
    parser = argparse.ArgumentParser(
        prog="peers/trust/differences",
        description="Tries whether `weigh run` finds small differences that were planted, and none where there is none.",
        epilog="What is kept in FILE is not tried again: an interrupted study goes on where it was.",
    )
    add = parser.add_argument
    add("--case", choices=names, nargs="+", default=names, help="[all]")
    add("--tries", type=_at_least(1), help="of each case [as the case says]")
    add(
        "--rivals",
        type=_pairs,
        default=PAIRS,
        metavar="PAIRS",
        help=f"alternating pairs of wrk and oha, a case: 0, or at least 2 [{PAIRS}]",
    )
    add(
        "--keep",
        type=pathlib.Path,
        metavar="FILE",
        help="one line of JSON a try, appended [peers/results/differences.jsonl]",
    )
    add("--weigh", default=str(ROOT / "weigh"), metavar="FILE", help="the binary [./weigh]")
    add("--show", action="store_true", help="show what is kept; measures nothing")
    return parser.parse_args(words)


AnyCase = TypeVar("AnyCase", bound=Repeated)


def planted(case: Case, book: Book, weigh: str) -> int:
    """How much is added, in nanoseconds: the effect's share of what the baseline's quantile was in one run before."""
    if case.effect == 0.0:
        return 0
    if known := book.of("planted", case):
        return int(known[0]["added_ns"])
    before = carry_out(case, ROOT, weigh, 0, 1, 10)
    if before.baseline_ns is None:
        raise TryError(f"the run before `{case.name}` said nothing of the baseline's {case.quantity}")
    added = round(case.effect * before.baseline_ns)
    book.add("planted", {"case": case.name, "added_ns": added, "baseline_ns": before.baseline_ns})
    return added


def turns_of(cases: Sequence[AnyCase], tries: int | None) -> Iterator[AnyCase]:
    """Cases in turn, so that none has the machine's good hour: each as often as it has tries, spread over the whole."""
    total = max([tries or case.tries for case in cases], default=0)
    for turn in range(total):
        for case in cases:
            wanted = tries or case.tries
            if (turn + 1) * wanted // total > turn * wanted // total:
                yield case


def try_all(cases: Sequence[Case], tries: int | None, book: Book, weigh: str) -> None:
    added = {case.name: planted(case, book, weigh) for case in cases}
    done = {case.name: len(book.tries(case)) for case in cases}
    passed = dict.fromkeys(done, 0)
    for case in turns_of(cases, tries):
        passed[case.name] += 1
        if passed[case.name] <= done[case.name]:
            continue
        one = carry_out(case, ROOT, weigh, added[case.name], passed[case.name])
        book.add("try", one)
        print(f"differences: {case.name} {passed[case.name]} of {tries or case.tries}: {_said(one)}", file=sys.stderr)


def _said(one: Try) -> str:
    if one.point is None or one.lower is None or one.upper is None:
        return f"{one.verdict}: {one.reason}"
    return f"{one.point - 1:+.2%} [{one.lower - 1:+.2%}, {one.upper - 1:+.2%}]"


def weigh_rivals(cases: Sequence[Case], pairs: int, book: Book, weigh: str) -> None:
    cores = sorted(os.sched_getaffinity(0))
    installer = Installer(allowed=True)
    tools = [tool for tool in (Wrk(), Oha()) if pairs and _have(tool, installer)]
    for case in cases:
        done = [sum(line["tool"] == tool.name for line in book.of("pair", case)) for tool in tools]
        missing = pairs - min(done, default=pairs)
        if case.effect == 0.0 or missing <= 0:
            continue
        added = planted(case, book, weigh)
        with tempfile.TemporaryDirectory(prefix="weigh-differences-") as folder:
            setting = Setting(installer, weigh, ROOT / "services", pathlib.Path(folder), cores[0])
            rivals.measure(case, added, tools, missing, setting, cores[-1], lambda pair: book.add("pair", pair))
        print(f"differences: {case.name}: {pairs} pairs of {', '.join(tool.name for tool in tools)}", file=sys.stderr)


def _have(tool: Tool, installer: Installer) -> bool:
    try:
        tool.find(installer)
    except Unavailable as error:
        print(f"differences: {tool.name}: {error}", file=sys.stderr)
        return False
    return True


def facts(book: Book) -> None:
    """What a reader needs beside the figures; each sitting adds its own."""
    cores = sorted(os.sched_getaffinity(0))
    book.add("host", {"case": "", **host.facts(ROOT, cores[0], cores[-1]), "at": host.now()})


def main(words: Sequence[str] | None = None) -> int:
    options = arguments(words)
    book = Book(options.keep or ROOT / "peers" / "results" / "differences.jsonl")
    cases = [BY_NAME[name] for name in options.case]
    try:
        if not options.show:
            weigh = str(pathlib.Path(options.weigh).resolve())
            facts(book)
            try_all(cases, options.tries, book, weigh)
            weigh_rivals(cases, options.rivals, book, weigh)
    except (TryError, OSError) as error:
        print(f"differences: {error}", file=sys.stderr)
        return COULD_NOT
    except KeyboardInterrupt:
        print(f"differences: interrupted; what was found is in {book.path}", file=sys.stderr)
        return COULD_NOT
    print(render(book, cases))
    return FINE


__all__ = ["Book", "main"]
