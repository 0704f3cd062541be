#!/usr/bin/env python3
"""Reads a page of a file from its disk, past all caches, some 1,000 times a second, until it is killed."""

from __future__ import annotations

import mmap
import os
import pathlib
import sys
import time

PAGE, PAUSE_SECONDS = 4096, 0.0009


def main() -> None:
    path = pathlib.Path(sys.argv[1])
    path.write_bytes(os.urandom(64 * PAGE))
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    os.fsync(file)
    buffer = mmap.mmap(-1, PAGE)
    number = 0
    while True:
        os.preadv(file, [buffer], number % 64 * PAGE)
        number += 1
        time.sleep(PAUSE_SECONDS)


main()
