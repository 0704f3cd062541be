"""One sitting: a `weigh run` of variants that differ in an attribute, or loads between which the system changes."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

from compare.idle import polling
from compare.install import Installer
from compare.servers import HOST, Setting, await_line, process
from study import records

from .cases import PROGRAMS, SITTING_SECONDS, Case, Cores, PerProcess, SystemWide
from .figures import Unit, unit
from .settings import devices_interrupts, kept, movable, put, reader

INVALID = 3
LOAD_SECONDS = 0.3


class SittingError(Exception):
    """`weigh` ended badly; the message holds what it said."""


@dataclasses.dataclass(frozen=True)
class Place:
    """Where things are: the binary, the services, and the cores."""

    weigh: str
    services: pathlib.Path
    cores: Cores


def carry_out(case: Case, place: Place, seed: int) -> dict[str, Any]:
    """One sitting of any kind, as it is kept: the case, when, whether idle cores polled, and its units."""
    with tempfile.TemporaryDirectory(prefix="weigh-host-", dir="/var/tmp") as name, polling() as idle_polls:
        before, start = devices_interrupts(_interrupts()), time.monotonic()
        folder = pathlib.Path(name)
        if isinstance(case, PerProcess):
            units = run(case, place, seed, folder)
        elif isinstance(case, SystemWide):
            units = alternate(case, place, seed, folder)
        else:
            raise TypeError(f"{case.name} is of no kind that can be carried out")
        passed, after = time.monotonic() - start, devices_interrupts(_interrupts())
    return {
        "case": case.name,
        "seed": seed,
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "idle_polls": idle_polls,
        "interrupts_per_s": {str(core): round((after[core] - before[core]) / passed, 1) for core in after},
        "units": [told(one) for one in units],
    }


def told(one: Unit) -> dict[str, float]:
    """What is known of a unit, to a millionth."""
    return {name: round(value, 6) for name, value in dataclasses.asdict(one).items() if value is not None}


def _interrupts() -> str:
    return pathlib.Path("/proc/interrupts").read_text()


def run(case: PerProcess, place: Place, seed: int, folder: pathlib.Path) -> list[Unit]:
    """A run's blocks."""
    file = folder / "experiment.toml"
    file.write_text(case.experiment(str(place.services), seed))
    with contextlib.ExitStack() as stack:
        for path, value in case.during:
            stack.enter_context(kept([pathlib.Path(path)]))
            put(pathlib.Path(path), value)
        ask([place.weigh, "run", str(file), "--out", str(folder / "runs"), "--format", "json"])
    found = next((folder / "runs").iterdir())
    return [unit(block, memory) for block, memory in zip(records.blocks(found), memories(found), strict=True)]


def memories(run: pathlib.Path) -> list[list[int | None]]:
    """The largest resident size of each variant, block by block, of the blocks that `records.blocks` takes."""
    found = []
    for path in sorted((run / "blocks").glob("*.json")):
        entries = sorted(json.loads(path.read_text())["trials"], key=lambda entry: entry["variant"])
        trials = [json.loads((run / "trials" / entry["folder"] / "trial.json").read_text()) for entry in entries]
        if all(trial["void"] is None and trial["steal"] <= 0.1 for trial in trials):
            found.append([max((each["peak_bytes"] for each in trial["memory"]), default=None) for trial in trials])
    return found


def ask(command: list[str]) -> dict[str, Any]:
    """Runs `weigh` and reads its JSON. An invalid figure is one all the same: the host is what is looked at."""
    done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode not in (0, INVALID):
        raise SittingError(f"`{' '.join(command)}` ended with {done.returncode}: {done.stderr.strip()[-400:]}")
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def alternate(case: SystemWide, place: Place, seed: int, folder: pathlib.Path) -> list[Unit]:
    """Pairs of loads on one server, plain and changed in random order."""
    setting = Setting(Installer(allowed=False), place.weigh, place.services, folder, place.cores.service)
    environment = {"HOST": HOST, "PORT": "0", "PROTOCOL": "http1-json", "WORKLOAD": "pingpong"}
    command = [str(place.services / case.program / PROGRAMS[case.program][0])]
    generator, units = random.Random(seed), []
    with changer(case, place.cores, folder) as change, process(command, setting, environment) as server:
        url = f"http://{HOST}:{await_line(server, setting)}/pong/64"
        end = time.monotonic() + SITTING_SECONDS
        load(url, place)
        while time.monotonic() < end:
            found = {}
            for changed in generator.sample((False, True), 2):
                change(changed)
                found[changed] = load(url, place)
            units.append(pair(found[False], found[True]))
    return units


@contextlib.contextmanager
def changer(case: SystemWide, cores: Cores, folder: pathlib.Path) -> Iterator[Callable[[bool], None]]:
    """What goes to the changed side or back to the plain one."""
    if case.reads:
        with reader(cores.service, folder) as program:
            yield lambda changed: program.send_signal(signal.SIGCONT if changed else signal.SIGSTOP)
        return
    files = movable() if case.interrupts else [pathlib.Path(case.file)]

    def write(changed: bool) -> None:
        for file in files:
            put(file, case.side(changed, cores))

    with kept(files):
        yield write


def load(url: str, place: Place) -> dict[str, Any]:
    """One load's response times."""
    said = ask([place.weigh, "load", url, "-c", "1", "-d", f"{LOAD_SECONDS}s", "--format", "json"])
    response: dict[str, Any] = said["response"]
    return response


def pair(plain: dict[str, Any], changed: dict[str, Any]) -> Unit:
    return Unit(
        p50=math.log(changed["p50_ns"] / plain["p50_ns"]),
        mean=math.log(changed["mean_ns"] / plain["mean_ns"]),
        plain_p50_ns=plain["p50_ns"],
    )


def here(weigh: str, root: pathlib.Path) -> Place:
    """The first core that we may use is the service's, as `weigh` has it with two; the last is the client's."""
    cores = sorted(os.sched_getaffinity(0))
    services = pathlib.Path(os.environ.get("WEIGH_SERVICES", root / "services")).resolve()
    return Place(str(pathlib.Path(weigh).resolve()), services, Cores(cores[0], cores[-1]))
