"""The command `peers/trust/position`: what may be typed, and the way from there to tables."""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence

from compare import host
from differences.book import Book
from differences.cases import Case
from differences.tries import TryError

from .cases import BY_NAME, CASES, setup
from .render import render
from .tries import Try, carry_out

ROOT = pathlib.Path(__file__).resolve().parents[2]
FINE, COULD_NOT = 0, 2


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"`{text}` is not a whole number from 1 on")
    return int(text)


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    names = [case.name for case in CASES]
    parser = argparse.ArgumentParser(
        prog="peers/trust/position",
        description="Runs one binary beside itself and reports what position, name, copy and port cost, each apart.",
        epilog="Runs that are kept in FILE are not made again: an interrupted study goes on where it was.",
    )
    add = parser.add_argument
    add("--case", choices=names, nargs="+", default=names, help="[all]")
    add("--tries", type=_count, help="of each case [as the case says]")
    add("--most", type=_count, help="runs at most in this sitting [as many as are missing]")
    add("--keep", type=pathlib.Path, metavar="FILE", help="one line a run, appended [peers/results/position.jsonl]")
    add("--weigh", default=str(ROOT / "weigh"), metavar="FILE", help="the binary [./weigh]")
    add("--show", action="store_true", help="show what is kept; measures nothing")
    return parser.parse_args(words)


def kept(book: Book, case: Case) -> list[Try]:
    """A case's runs so far."""
    return [Try.read(line) for line in book.of("position", case)]


def missing(book: Book, cases: Sequence[Case], tries: int | None) -> Iterator[tuple[Case, int]]:
    """Runs that are wanted and not kept, by case and number."""
    for case in cases:
        yield from ((case, number) for number in range(len(kept(book, case)), tries or case.tries))


@contextlib.contextmanager
def two_copies(weigh: pathlib.Path) -> Iterator[tuple[str, str]]:
    """Two files with the same bytes, at paths of the same length."""
    with tempfile.TemporaryDirectory(prefix="weigh-copies-") as folder:
        paths = [pathlib.Path(folder) / which / "weigh" for which in ("1", "2")]
        for path in paths:
            path.parent.mkdir()
            shutil.copy2(weigh, path)
        yield str(paths[0]), str(paths[1])


def run_missing(options: argparse.Namespace, cases: Sequence[Case], book: Book) -> None:
    """Makes the missing runs, each kept as soon as it is over."""
    cores = sorted(os.sched_getaffinity(0))
    book.add("host", {"case": "", **host.facts(ROOT, cores[0], cores[-1]), "at": host.now()})
    with two_copies(pathlib.Path(options.weigh).resolve()) as copies:
        for done, (case, number) in enumerate(missing(book, cases, options.tries)):
            if options.most is not None and done >= options.most:
                return
            one = carry_out(case, number, setup(number), copies, ROOT)
            book.add("position", one)
            said = one.costs.get(case.quantity)
            text = f"{said.point - 1:+.2%} [{said.lower - 1:+.2%}, {said.upper - 1:+.2%}]" if said else one.validity
            wanted = options.tries or case.tries
            print(f"position: {case.name} {number + 1} of {wanted}: {text}", file=sys.stderr)


def main(words: Sequence[str] | None = None) -> int:
    options = arguments(words)
    book = Book(options.keep or ROOT / "peers" / "results" / "position.jsonl")
    cases = [BY_NAME[name] for name in options.case]
    try:
        if not options.show:
            run_missing(options, cases, book)
    except (TryError, OSError) as error:
        print(f"position: {error}", file=sys.stderr)
        return COULD_NOT
    except KeyboardInterrupt:
        print(f"position: interrupted; what was found is in {book.path}", file=sys.stderr)
        return COULD_NOT
    hosts = [line for line in book.lines if line["kind"] == "host"]
    print(render(hosts[-1] if hosts else None, [one for case in cases for one in kept(book, case)]))
    return FINE


__all__ = ["main"]
