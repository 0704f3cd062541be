#!/usr/bin/env python3
"""Gives this process an attribute that its programs inherit, and becomes the program; see `--help`.

All of them end with the process, so that nothing has to be restored.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import sys

# linux/personality.h, linux/prctl.h
ADDR_NO_RANDOMIZE = 0x0040000
PR_SET_TIMERSLACK = 29
PR_SET_THP_DISABLE = 41
PR_THP_DISABLE_EXCEPT_ADVISED = 2


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--fixed-addresses", action="store_true", help="personality ADDR_NO_RANDOMIZE")
    parser.add_argument("--timer-slack", type=int, metavar="NS", help="prctl PR_SET_TIMERSLACK")
    parser.add_argument(
        "--huge-pages", choices=("advised", "never"), help="prctl PR_SET_THP_DISABLE; advised: Linux 6.18"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, help="-- and the program with its arguments")
    options = parser.parse_args()
    options.command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not options.command:
        parser.error("a program is needed")
    return options


def apply(options: argparse.Namespace) -> None:
    library = ctypes.CDLL(None, use_errno=True)

    def call(name: str, *words: int) -> None:
        if getattr(library, name)(*(ctypes.c_ulong(word) for word in words)) == -1:
            sys.exit(f"attribute: {name}{words}: {os.strerror(ctypes.get_errno())}")

    if options.fixed_addresses:
        call("personality", ADDR_NO_RANDOMIZE)
    if options.timer_slack is not None:
        call("prctl", PR_SET_TIMERSLACK, options.timer_slack, 0, 0, 0)
    if options.huge_pages:
        flags = PR_THP_DISABLE_EXCEPT_ADVISED if options.huge_pages == "advised" else 0
        call("prctl", PR_SET_THP_DISABLE, 1, flags, 0, 0)


if __name__ == "__main__":
    chosen = arguments()
    apply(chosen)
    os.execvp(chosen.command[0], chosen.command)
