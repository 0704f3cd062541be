"""What is run: one binary as two commands, and what may differ between the two that should not matter."""

from __future__ import annotations

import dataclasses
import itertools
import random

from differences.cases import WORK_NS, Case

SAME = Case("same-command", "one binary as two commands", "response p50", 0.0, 10, 200, "at most 16 of 200")
PLANTED = Case("planted-150", "+150 ns", "response p50", 0.01, 22, 40, "at least 38 of 40, mean within 5 %")
ADDED_NS = {SAME.name: 0, PLANTED.name: 150}
CASES = [SAME, PLANTED]
BY_NAME = {case.name: case for case in CASES}

QUANTITIES = ["response p50", "cpu per operation", "throughput", "response p99"]
# Of different lengths, since a name may end in a path or in the environment of a process.
NAMES = ("short", "a-name-that-is-longer")
# Outside the ports that Linux gives to clients by default.
PORTS = (21_301, 21_307)


@dataclasses.dataclass(frozen=True)
class Setup:
    """What is which in one run. Each is +1 where the second variant has the longer name, the second copy of the
    binary, the higher port, and -1 where the baseline has it; 0 where both take free ports, new ones in every block."""

    name: int
    copy: int
    port: int


# Free ports twice as often as either order of fixed ones: they are what a run has unless told otherwise.
SETUPS = [Setup(*each) for each in itertools.product((-1, 1), (-1, 1), (0, -1, 0, 1))]


def setup(number: int) -> Setup:
    """The setup of a case's run, from 0: all in turn, in a fresh random order each time through."""
    cycle, place = divmod(number, len(SETUPS))
    return random.Random(cycle).sample(SETUPS, len(SETUPS))[place]


def experiment(case: Case, here: Setup, copies: tuple[str, str], record: str, seed: int) -> str:
    """The experiment file of one run. With something planted, probes write down into `record` what they really did."""
    added = ADDED_NS[case.name]
    names = NAMES if here.name > 0 else NAMES[::-1]
    programs = copies if here.copy > 0 else copies[::-1]
    ports = PORTS if here.port > 0 else PORTS[::-1]
    variants = []
    for place, (name, program) in enumerate(zip(names, programs, strict=True)):
        words = [program, "probe", "delay", f"{WORK_NS + added * place}ns"]
        words += ["--port", str(ports[place])] if here.port else []
        words += ["--record", f"{record}/{place}"] if added else []
        ready = f"ready = {{ port = {ports[place]} }}\n" if here.port else ""
        command = ", ".join(f'"{word}"' for word in words)
        variants.append(f'[[variant]]\nname = "{name}"\ncommand = [{command}]\n{ready}')
    return (
        f'title = "{case.title}"\n[workload]\nname = "pingpong"\nsize = "64 B"\n'
        '[load]\nconnections = 1\nwarmup = "100 ms"\n'
        f'[plan]\nheadline = "{case.quantity}"\nblocks = {{ min = 6, max = 6 }}\nbudget = "{case.budget} s"\n'
        f"seed = {seed}\n" + "".join(variants)
    )
