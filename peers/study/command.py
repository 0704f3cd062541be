"""The command `peers/trust/study`: what may be typed, the runs, and the way from there to tables."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any, NoReturn

from compare import host

from . import records
from .cases import SERVICES, Case, cases
from .render import markdown

ROOT = pathlib.Path(__file__).resolve().parents[2]
FINE, COULD_NOT = 0, 2
INDEX = "study.json"


class StudyError(Exception):
    """What went wrong, and what to do."""


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="peers/trust/study",
        description="Runs programs against themselves and shows what windows, estimators, order, freezing and blocks buy.",
        epilog="About 12 minutes, and nothing else should run. Exit codes: 0 fine, 2 could not do it.",
    )
    add = parser.add_argument
    add("--services", default=",".join(SERVICES), metavar="NAME,…", help=f"of {', '.join(SERVICES)} [all]")
    add("--scale", type=float, default=1.0, help="stretches the time of every block; below 1 for a trial [1]")
    add("--seed", type=int, default=1, help="of orders [1]")
    add("--weigh", default=str(ROOT / "weigh"), metavar="FILE", help="the binary [./weigh]")
    add("--keep", metavar="DIR", help="keep the run folders there; the folder must not exist or be empty")
    add("--from", dest="source", metavar="DIR", help="show a kept study again; measures nothing")
    options = parser.parse_args(words)
    options.services = [name for name in options.services.split(",") if name]
    for name in options.services:
        if name not in SERVICES:
            parser.error(f"`{name}` is none of: {', '.join(SERVICES)}")
    if not options.services:
        parser.error(f"--services needs one or more of: {', '.join(SERVICES)}")
    if not options.scale > 0:
        parser.error("--scale must be above 0")
    return options


def call(command: Sequence[str], log: pathlib.Path) -> None:
    """Runs `weigh` to its end; what it says goes to the log."""
    with log.open("ab") as file:
        code = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, check=False).returncode
    # 3 is a run whose figures are invalid; its windows are what the study looks at.
    if code not in (0, 3):
        last = log.read_text(errors="replace").strip().splitlines()[-5:]
        raise StudyError(f"`{' '.join(command)}` ended with {code}: {' / '.join(last)}")


def carry_out(options: argparse.Namespace, folder: pathlib.Path) -> None:
    """Measures every case into `folder`, which then holds all that tables need."""
    weigh, log = str(pathlib.Path(options.weigh).resolve()), folder / "log.txt"
    services = pathlib.Path(os.environ.get("WEIGH_SERVICES", ROOT / "services")).resolve()
    call([weigh, "services", "build", *options.services], log)
    plan = cases(options.services, options.scale, options.seed)
    cores = sorted(os.sched_getaffinity(0))
    steal, began = host.Steal(set(cores)), time.monotonic()
    facts = {"date": host.now(), **host.facts(ROOT, cores[0], cores[-1])}
    runs = []
    for number, case in enumerate(plan, 1):
        print(f"study: {number}/{len(plan)} {case.name}", file=sys.stderr, flush=True)
        runs.append({"case": vars(case), **run(case, weigh, services, folder, log)})
    cut = sum(entry["problem"] is not None for entry in runs)
    facts |= {"runs": len(runs), "runs_cut_short": cut, "steal": round(steal.share(), 5)}
    facts["took_seconds"] = round(time.monotonic() - began)
    (folder / INDEX).write_text(json.dumps({"schema": 1, "facts": facts, "runs": runs}, indent=1) + "\n")


def run(
    case: Case, weigh: str, services: pathlib.Path, folder: pathlib.Path, log: pathlib.Path
) -> dict[str, str | None]:
    """One run: its folder, and why it was cut short if it was. Whole blocks count all the same."""
    out = folder / case.name.replace(" ", "-")
    out.mkdir()
    file = out / "experiment.toml"
    file.write_text(case.experiment(str(services)))
    problem = None
    try:
        call([weigh, "run", str(file), "--out", str(out / "runs")], log)
    except StudyError as error:
        # A hypervisor that took too much voids blocks, and too many of them end a run; the rest goes on.
        print(f"study: {error}", file=sys.stderr, flush=True)
        problem = str(error)
    found = sorted((out / "runs").glob("*")) if (out / "runs").is_dir() else []
    if not found:
        raise StudyError(f"{problem}; nothing was measured")
    return {"folder": str(found[0].relative_to(folder)), "problem": problem}


def show(folder: pathlib.Path) -> str:
    """The tables of a study's folder."""
    try:
        index: dict[str, Any] = json.loads((folder / INDEX).read_text())
        runs = [(Case(**entry["case"]), records.blocks(folder / entry["folder"])) for entry in index["runs"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StudyError(f"`{folder}` is no kept study: {type(error).__name__}: {error}") from error
    return markdown(runs, index["facts"])


def _interrupted(number: int, _: object) -> NoReturn:
    raise KeyboardInterrupt(signal.Signals(number).name)


def main(words: Sequence[str] | None = None) -> int:
    options = arguments(words)
    # So that `weigh`, which is told the same by the terminal or ends with us, has stopped its programs.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupted)
    try:
        with contextlib.ExitStack() as stack:
            if options.source:
                folder = pathlib.Path(options.source)
            else:
                folder = pathlib.Path(
                    options.keep or stack.enter_context(tempfile.TemporaryDirectory(prefix="weigh-study-"))
                )
                folder.mkdir(parents=True, exist_ok=True)
                if any(folder.iterdir()):
                    raise StudyError(f"`{folder}` is not empty; name another folder for `--keep`")
                carry_out(options, folder)
            print(show(folder))
    except StudyError as error:
        print(f"study: {error}", file=sys.stderr)
        return COULD_NOT
    except KeyboardInterrupt:
        print("study: interrupted", file=sys.stderr)
        return COULD_NOT
    return FINE
