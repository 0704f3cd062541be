"""The command `peers/run`: what may be typed, and the way from there to a table."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import statistics
import sys
import tempfile
from collections.abc import Sequence
from typing import Any, NoReturn

from . import host
from .apart import Apart
from .cases import CASES, Case
from .figures import summarise
from .idle import LATENCY, polling
from .install import Installer, Unavailable
from .measure import Group, cpu_group
from .render import render
from .rounds import Plan, carry_out
from .servers import Setting
from .tools import Tool
from .tools_grpc import Ghz
from .tools_http import K6, Fortio, H2load, Hey, Oha, Vegeta, Wrk, Wrk2
from .tools_kv import Memtier, Mutilate, RedisBenchmark
from .tools_ours import Bare, Pingpong, Weigh
from .tools_sessions import JMeter, Locust

ROOT = pathlib.Path(__file__).resolve().parents[2]
FINE, WRONG_TURNS, COULD_NOT = 0, 1, 2


def all_tools(weigh: str) -> dict[str, Tool]:
    """Every tool by name, `weigh` first."""
    tools = [Weigh(weigh, ROOT), Wrk(), Wrk2(), Oha(), H2load(), Hey(), Fortio(), Vegeta(), K6(), Ghz(ROOT)]
    tools += [RedisBenchmark(), Memtier(), Mutilate(), Bare(ROOT), Pingpong(weigh, ROOT), Locust(ROOT), JMeter(ROOT)]
    return {tool.name: tool for tool in tools}


def _names(allowed: Sequence[str]) -> Any:
    def convert(text: str) -> list[str]:
        names = [name for name in text.split(",") if name]
        for name in names:
            if name not in allowed:
                raise argparse.ArgumentTypeError(f"`{name}` is none of: {', '.join(allowed)}")
        if not names:
            raise argparse.ArgumentTypeError(f"give one or more of: {', '.join(allowed)}")
        return names

    return convert


def _whole(least: int, most: int) -> Any:
    def convert(text: str) -> int:
        if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"`{text}` is not a whole number from {least} to {most}")
        return int(text)

    return convert


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    tools, cases = list(all_tools("")), [case.name for case in CASES]
    parser = argparse.ArgumentParser(
        prog="peers/run",
        description="Weighs the generator of `weigh` against the tools that its users know.",
        epilog="Exit codes: 0 fine, 1 some turns do not count (errors, counts that disagree), 2 could not do it.",
    )
    add = parser.add_argument
    add("--case", type=_names(cases), default=cases, metavar="NAME,…", help=f"of {', '.join(cases)} [all]")
    add(
        "--tools",
        type=_names(tools),
        metavar="NAME,…",
        help=f"of {', '.join(tools)}; weigh always takes part [all but {', '.join(_on_demand())}]",
    )
    add("--rounds", type=_whole(1, 1000), default=11, help="turns of each tool in each case [11]")
    add("--seconds", type=_whole(1, 3600), default=3, help="of load in each turn [3]")
    add("--warmup", type=_whole(0, 3600), default=1, help="seconds of load before each turn, not counted [1]")
    add("--idle", choices=["polled", "host"], default="polled", help="how idle cores wait, for all tools [polled]")
    add("--seed", type=_whole(0, 2**63), default=1, help="of the order of turns [1]")
    add("--format", choices=["text", "json", "markdown"], default="text", help="of what is printed [text]")
    add("--weigh", default=str(ROOT / "weigh"), metavar="FILE", help="the binary [./weigh]")
    add("--no-install", action="store_true", help="install nothing; what is missing is not measured")
    add("--keep", action="store_true", help="write the result to peers/results/ too, dated")
    add("--from", dest="source", metavar="FILE", help="show a kept result; measures nothing")
    return parser.parse_args(words)


def _on_demand() -> list[str]:
    return [tool.name for tool in all_tools("").values() if tool.on_demand]


class Run:
    """One run of the command."""

    def __init__(self, options: argparse.Namespace, cores: Sequence[int]) -> None:
        self.options = options
        self.server_core, self.client_core = cores[0], cores[-1]
        self.installer = Installer(not options.no_install)
        self.weigh = str(pathlib.Path(options.weigh).resolve())
        self.tools: dict[str, Tool] = {}
        self.unavailable: list[dict[str, str]] = []

    def miss(self, what: str, why: str) -> None:
        """Notes what is not measured, at once and for the table."""
        print(f"peers: {what}: {why}", file=sys.stderr, flush=True)
        self.unavailable.append({"what": what, "why": why})

    def find_tools(self, cases: Sequence[Case]) -> None:
        """Finds and installs what the cases need of what was asked for."""
        everything = all_tools(self.weigh)
        asked = self.options.tools or [name for name, tool in everything.items() if not tool.on_demand]
        wanted = {"weigh"} | {peer for case in cases for peer in case.peers if peer in asked}
        for name, tool in everything.items():
            if name not in wanted:
                continue
            try:
                tool.find(self.installer)
                self.tools[name] = tool
            except Unavailable as error:
                if name == "weigh":
                    raise
                self.miss(name, str(error))

    def case(self, case: Case, plan: Plan, apart: Apart, group: Group | None) -> dict[str, Any] | None:
        """One case, or nothing where its server is not to be had."""
        tools = [self.tools[name] for name in ("weigh", *case.peers) if name in self.tools]
        with tempfile.TemporaryDirectory(prefix="weigh-peers-") as name:
            folder = pathlib.Path(name)
            (folder / "logs").mkdir()
            setting = Setting(self.installer, self.weigh, ROOT / "services", folder, self.server_core)
            try:
                turns = carry_out(case, tools, plan, setting, apart, group)
            except Unavailable as error:
                self.miss(f"case {case.name}", str(error))
                return None
        return summarise(case, turns, [tool.name for tool in tools])

    def result(self) -> dict[str, Any]:
        cases = [case for case in CASES if case.name in self.options.case]
        plan = Plan(self.options.rounds, self.options.seconds, self.options.warmup, self.options.seed)
        self.find_tools(cases)
        apart = Apart(self.installer, ROOT, (self.server_core, self.client_core))
        if apart.why_not:
            self.miss("how far apart the cores are", apart.why_not)
        facts, date = host.facts(ROOT, self.server_core, self.client_core), host.now()
        awake = polling() if self.options.idle == "polled" else contextlib.nullcontext(False)
        with cpu_group() as group, awake as polls:
            if self.options.idle == "polled" and not polls:
                self.miss("idle cores kept awake", f"{LATENCY} may not be opened; they sleep, for every tool")
            done = [self.case(case, plan, apart, group) for case in cases]
        measured = [case for case in done if case]
        steal = [turn["steal"] for case in measured for turn in case["turns"]]
        return {
            "schema": 2,
            "date": date,
            "host": {**facts, "idle_polls": polls},
            "settings": dataclasses.asdict(plan),
            "steal": statistics.mean(steal) if steal else None,
            "cpu_group": group is not None,
            "tools": {name: tool.version() for name, tool in self.tools.items()},
            "cases": measured,
            "unavailable": self.unavailable,
        }


def keep(result: dict[str, Any]) -> pathlib.Path:
    """Writes a result beside the others; never over one."""
    folder = ROOT / "peers" / "results"
    folder.mkdir(exist_ok=True)
    path = folder / f"{result['date'].replace(':', '')}.json"
    with open(path, "x", encoding="utf-8") as file:
        file.write(json.dumps(result, indent=1) + "\n")
    return path


def _interrupted(number: int, _: object) -> NoReturn:
    raise KeyboardInterrupt(signal.Signals(number).name)


def main(words: Sequence[str] | None = None) -> int:
    options = arguments(words)
    if options.source:
        return show(options.source, options.format)
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        print("peers: client and server need a core each, and this process may use one only", file=sys.stderr)
        return COULD_NOT
    # So that servers and tools are stopped in order however we are ended.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupted)
    try:
        result = Run(options, cores).result()
    except Unavailable as error:
        print(f"peers: {error}", file=sys.stderr)
        return COULD_NOT
    except KeyboardInterrupt:
        print("peers: interrupted; nothing is kept", file=sys.stderr)
        return COULD_NOT
    if options.keep:
        print(f"peers: kept in `{keep(result)}`", file=sys.stderr)
    with contextlib.suppress(BrokenPipeError):
        print(render(result, options.format))
    if not result["cases"]:
        return COULD_NOT
    return WRONG_TURNS if any(case["problems"] for case in result["cases"]) else FINE


def show(path: str, form: str) -> int:
    try:
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
        print(render(result, form))
    except (OSError, ValueError, KeyError) as error:
        print(f"peers: `{path}` is no kept result: {type(error).__name__}: {error}", file=sys.stderr)
        return COULD_NOT
    return FINE
