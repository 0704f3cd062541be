"""The command `peers/trust/host`: what may be typed, and the way from there to tables."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from compare import host
from compare.install import Unavailable
from differences.book import Book
from differences.command import turns_of

from .cases import BY_NAME, CASES
from .render import render
from .settings import SettingError
from .sittings import SittingError, carry_out, here

ROOT = pathlib.Path(__file__).resolve().parents[2]
FINE, COULD_NOT = 0, 2


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    names = [case.name for case in CASES]
    parser = argparse.ArgumentParser(
        prog="peers/trust/host",
        description="Measures what settings of the host cost: alone, with programs that know nothing of them.",
        epilog="As root, after `weigh services build rust go node java`. System-wide settings are put back at the end, "
        "also after Ctrl-C; what is kept in FILE is not tried again.",
    )
    add = parser.add_argument
    add("--case", choices=names, nargs="+", default=names, help="[all]")
    add("--tries", type=int, help="sittings of each case, 12 s each [as the case says]")
    add("--keep", type=pathlib.Path, metavar="FILE", help="one line of JSON a sitting [peers/results/host.jsonl]")
    add("--weigh", default=str(ROOT / "weigh"), metavar="FILE", help="the binary [./weigh]")
    add("--show", action="store_true", help="show what is kept; measures nothing")
    return parser.parse_args(words)


def measure(options: argparse.Namespace, book: Book) -> None:
    place = here(options.weigh, ROOT)
    cores = sorted(os.sched_getaffinity(0))
    book.add("host", {"case": "", **host.facts(ROOT, cores[0], cores[-1]), "at": host.now()})
    cases = [BY_NAME[name] for name in options.case]
    passed = dict.fromkeys(options.case, 0)
    done = {case.name: len(book.of("sitting", case)) for case in cases}
    for case in turns_of(cases, options.tries):
        passed[case.name] += 1
        if passed[case.name] <= done[case.name]:
            continue
        found = carry_out(case, place, passed[case.name])
        book.add("sitting", found)
        wanted = options.tries or case.tries
        print(f"host: {case.name} {passed[case.name]} of {wanted}: {len(found['units'])} units", file=sys.stderr)


def _interrupted(number: int, _: object) -> NoReturn:
    raise KeyboardInterrupt(signal.Signals(number).name)


def main(words: Sequence[str] | None = None) -> int:
    options = arguments(words)
    # So that whatever was changed is put back.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupted)
    try:
        book = Book(options.keep or ROOT / "peers" / "results" / "host.jsonl")
        if not options.show:
            measure(options, book)
    except (SettingError, SittingError, Unavailable, OSError, json.JSONDecodeError) as error:
        print(f"host: {error}", file=sys.stderr)
        return COULD_NOT
    except KeyboardInterrupt:
        print("host: interrupted; settings are as they were", file=sys.stderr)
        return COULD_NOT
    print(render([(BY_NAME[name], book.of("sitting", BY_NAME[name])) for name in options.case]))
    return FINE
