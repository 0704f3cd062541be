"""Which runs the study is made of. Every run sends to one program twice, so that the true cost is nothing at all.

A case is one program and one length of window. Cases take turns in two passes of seeded order, so that a host that drifts
does so under all of them. Windows of 2 s have one block: ten rounds are the least that a block has, and take 40 s.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence

# What a block has besides its rounds: two starts, two warm-ups, two stops. A guess; a block that needs less measures
# longer.
OVERHEAD_SECONDS = {"rust": 0.8, "go": 0.8, "java": 2.4}

# A JVM compiles while it answers its first some 10,000 requests.
WARMUP_MILLISECONDS = {"rust": 100, "go": 100, "java": 500}

# By command, not by name: a `period` that a service declares would forbid short windows.
COMMANDS = {
    "rust": ["target/release/weigh-rust"],
    "go": ["bin/weigh-go"],
    "java": ["java", "-cp", "build", "Pong"],
}
SERVICES = tuple(COMMANDS)

# The default, by which cases that vary something else are compared.
NOMINAL_MILLISECONDS = 20


@dataclasses.dataclass(frozen=True)
class Case:
    """One run: a program against itself. Times are of one block's rounds."""

    service: str
    window_milliseconds: int
    freeze: bool
    blocks: int
    seconds: float
    seed: int

    @property
    def name(self) -> str:
        frozen = "" if self.freeze else " not frozen"
        return f"{self.service} {self.window_milliseconds} ms{frozen} {self.seed}"

    def experiment(self, services: str) -> str:
        """The experiment file; `services` is the catalogue's folder."""
        folder = f"{services}/{self.service}"
        command = ["env", "-C", folder, *COMMANDS[self.service]]
        words = ", ".join(f'"{word}"' for word in command)
        budget = self.blocks * (self.seconds + OVERHEAD_SECONDS[self.service])
        variants = "".join(
            f'\n[[variant]]\nname = "{name}"\ncommand = [{words}]\nready = "line"\n' for name in ("one", "same")
        )
        return (
            f'title = "{self.name}"\n\n'
            '[workload]\nname = "pingpong"\nsize = "64 B"\n\n'
            f'[load]\nconnections = 1\nwarmup = "{WARMUP_MILLISECONDS[self.service]} ms"\n\n'
            f"[plan]\nblocks = {{ min = {self.blocks}, max = {self.blocks} }}\n"
            f'budget = "{budget:.1f} s"\nwindow = "{self.window_milliseconds} ms"\n'
            f"freeze = {str(self.freeze).lower()}\nseed = {self.seed}\n"
            f"{variants}"
        )


def cases(services: Sequence[str], scale: float, seed: int) -> list[Case]:
    """All runs in the order in which they are made; `scale` stretches the time of every block."""
    plan: list[tuple[int, bool, int, float]] = []
    for _ in range(2):
        plan += [(window, True, 2, 8.2) for window in (5, 20, 100)]
    plan += [(NOMINAL_MILLISECONDS, False, 2, 8.2), (500, True, 2, 12.2), (2000, True, 1, 40.0)]
    found = [
        Case(service, window, freeze, blocks, seconds * scale, seed + number)
        for service in services
        for number, (window, freeze, blocks, seconds) in enumerate(plan)
    ]
    random.Random(seed).shuffle(found)
    return found
