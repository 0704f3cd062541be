"""How far apart the server's core and the client's are: the round trip of a cache line, in nanoseconds.

A hypervisor moves virtual cores about, some seconds here, some there; a request over loopback costs twice as much where
they share no cache. What is compared must have been measured at one distance, so it is taken before and after every turn.
"""

from __future__ import annotations

import pathlib
import subprocess
from collections.abc import Iterable

from .install import Installer, Unavailable, build

# Distances within this factor are one: cores that share a cache are 40 to 100 ns apart and others 150 to 600, while one
# distance repeats to some ten percent.
ALIKE = 1.6


class Apart:
    """Measures the distance of two cores; says nothing where it cannot be measured."""

    def __init__(self, installer: Installer, root: pathlib.Path, cores: tuple[int, int]) -> None:
        self.cores = cores
        self.program: str | None = None
        self.why_not: str | None = None
        try:
            self.program = build(root / "peers" / "bare" / "apart.c", installer.cache)
        except Unavailable as error:
            self.why_not = str(error)

    def measure(self) -> float | None:
        if self.program is None:
            return None
        command = [self.program, *map(str, self.cores)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        return float(done.stdout) if done.returncode == 0 else None


def alike(distances: Iterable[float | None]) -> bool:
    """Whether these are one distance. Unknown ones are taken for any."""
    known = [distance for distance in distances if distance]
    return not known or max(known) <= ALIKE * min(known)


def groups(distances: Iterable[float]) -> list[tuple[float, float]]:
    """The distances there were, near before far, each as its range: a gap of more than a factor parts two."""
    found: list[tuple[float, float]] = []
    for distance in sorted(distances):
        if found and distance <= ALIKE * found[-1][1]:
            found[-1] = (found[-1][0], distance)
        else:
            found.append((distance, distance))
    return found


__all__ = ["ALIKE", "Apart", "alike", "groups"]
