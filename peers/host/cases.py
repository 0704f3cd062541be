"""Which settings are tried, and how.

What a process may have for itself is given to some variants of one `weigh run`, so that both sides share the host's
hour. What the whole system has alone is changed between short loads on one server, plain and changed in random order.
"""

from __future__ import annotations

import dataclasses
import pathlib

from study.cases import COMMANDS

PROGRAMS = {**COMMANDS, "node": ["node", "main.js"]}
NAMES = {"rust": "Rust", "go": "Go", "java": "Java", "node": "Node"}
WINDOW_MILLISECONDS = {"java": 100}
WARMUP_MILLISECONDS = {"java": 500, "node": 300}
# A sitting of a run, so that several that measure on one host need not wait long for each other.
SITTING_SECONDS = 12
# Blocks in a sitting, which hold two variants, and four.
BLOCKS = {"rust": (10, 7), "go": (10, 7), "node": (6, 4), "java": (3, 2)}

ATTRIBUTE = pathlib.Path(__file__).resolve().parent / "attribute.py"
HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage/enabled"
STEERING = "/sys/class/net/lo/queues/rx-0/rps_cpus"
AUTOGROUP = "/proc/sys/kernel/sched_autogroup_enabled"


@dataclasses.dataclass(frozen=True)
class Case:
    """One setting with one program: what is plain, and what is changed. `tries` are sittings."""

    name: str
    setting: str
    plain: str
    changed: str
    program: str
    tries: int


@dataclasses.dataclass(frozen=True)
class PerProcess(Case):
    """Changed by attributes of processes. `starts`: two variants of each side, to tell what two starts differ by."""

    plain_words: tuple[str, ...] = ()
    changed_words: tuple[str, ...] = ()
    starts: bool = False
    during: tuple[tuple[str, str], ...] = ()
    """What the whole system has meanwhile, on both sides."""

    @property
    def sides(self) -> list[tuple[str, tuple[str, ...]]]:
        """Every variant's name and words; those of one side follow each other."""
        both = (("plain", self.plain_words), ("changed", self.changed_words))
        again = 2 if self.starts else 1
        return [(f"{name} {number}", words) for name, words in both for number in range(1, again + 1)]

    def experiment(self, services: str, seed: int) -> str:
        """The experiment file of one sitting."""
        window = WINDOW_MILLISECONDS.get(self.program, 20)
        blocks = BLOCKS[self.program][self.starts]
        program = ["env", "-C", f"{services}/{self.program}", *PROGRAMS[self.program]]
        variants = "".join(
            f'\n[[variant]]\nname = "{name}"\ncommand = {_list(["python3", str(ATTRIBUTE), *words, "--", *program])}\n'
            'ready = "line"\n'
            for name, words in self.sides
        )
        return (
            f'title = "{self.name}"\n\n[workload]\nname = "pingpong"\nsize = "64 B"\n\n'
            f'[load]\nconnections = 1\nwarmup = "{WARMUP_MILLISECONDS.get(self.program, 100)} ms"\n\n'
            f'[plan]\nblocks = {{ min = {blocks}, max = {blocks} }}\nbudget = "{SITTING_SECONDS} s"\n'
            f'window = "{window} ms"\nseed = {seed}\n{variants}'
        )


@dataclasses.dataclass(frozen=True)
class Cores:
    """Where the server is pinned, and where the generator runs."""

    service: int
    client: int


@dataclasses.dataclass(frozen=True)
class SystemWide(Case):
    """Changed for the whole system: what is in a file; with `interrupts`, the cores that devices' interrupts go to;
    with `reads`, whether a program on the service's core reads from the disk."""

    file: str = ""
    plain_value: str = ""
    changed_value: str = ""
    interrupts: bool = False
    reads: bool = False

    def side(self, changed: bool, cores: Cores) -> str:
        """What is written for a side: a mask, a list of cores or a word."""
        value = self.changed_value if changed else self.plain_value
        return value.format(
            service=cores.service,
            client=cores.client,
            service_mask=mask(cores.service),
            client_mask=mask(cores.client),
        )


def mask(core: int) -> str:
    """One core as the kernel's masks have it: hexadecimal words of 32 bits, the highest first."""
    return ",".join([f"{1 << core % 32:x}", *["00000000"] * (core // 32)])


def _list(words: list[str]) -> str:
    return "[" + ", ".join(f'"{word}"' for word in words) + "]"


def _fixed(program: str, tries: int) -> Case:
    words = ("--fixed-addresses",)
    return PerProcess(
        f"addresses-{program}",
        "address space layout",
        "random",
        "fixed",
        program,
        tries,
        changed_words=words,
        starts=True,
    )


def _slack(program: str, tries: int) -> Case:
    return PerProcess(
        f"slack-{program}",
        "timer slack",
        "50 µs",
        "1 ns",
        program,
        tries,
        plain_words=("--timer-slack", "50000"),
        changed_words=("--timer-slack", "1"),
    )


def _pages(program: str, tries: int) -> Case:
    return PerProcess(
        f"huge-pages-{program}",
        "transparent huge pages",
        "madvise",
        "always",
        program,
        tries,
        plain_words=("--huge-pages", "advised"),
        during=((HUGE_PAGES, "always"),),
    )


CASES: list[Case] = [
    # Of other programs p50 has two levels on virtual hosts, which hide what starts differ by.
    _fixed("rust", 8),
    *(_slack(program, tries) for program, tries in (("rust", 2), ("go", 3), ("node", 3), ("java", 4))),
    *(_pages(program, tries) for program, tries in (("rust", 2), ("go", 2), ("java", 4))),
    SystemWide("steering-client", "RPS of `lo`", "off", "client's core", "rust", 2, STEERING, "0", "{client_mask}"),
    SystemWide("steering-service", "RPS of `lo`", "off", "service's core", "rust", 3, STEERING, "0", "{service_mask}"),
    SystemWide(
        "interrupts",
        "devices' interrupts",
        "service's core",
        "client's core",
        "rust",
        2,
        plain_value="{service}",
        changed_value="{client}",
        interrupts=True,
    ),
    SystemWide("disk-reads", "another program's reads", "none", "1,000 a second", "rust", 3, reads=True),
    SystemWide("autogroup", "autogroup", "on", "off", "rust", 2, AUTOGROUP, "1", "0"),
]
BY_NAME = {case.name: case for case in CASES}
