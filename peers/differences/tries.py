"""One try: `weigh run` on two servers whose difference is known, and what it said. Judges nothing."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import json
import os
import pathlib
import subprocess
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from .cases import Case, experiment

INVALID = 3


class TryError(Exception):
    """`weigh` ended badly; the message holds what it said."""


@dataclasses.dataclass(frozen=True)
class Try:
    """What one run said of its headline. Times in seconds, the baseline's quantile in nanoseconds."""

    case: str
    seed: int
    at: str
    added_ns: int
    baseline_ns: float | None
    point: float | None
    lower: float | None
    upper: float | None
    verdict: str
    reason: str | None
    validity: str
    windows: float
    lead_in: float
    warm_up: float
    took: float

    @property
    def excludes_0(self) -> bool:
        return self.lower is not None and self.upper is not None and (self.lower > 1.0 or self.upper < 1.0)

    @property
    def found(self) -> bool:
        """Whether the interval lies where the difference was planted: above."""
        return self.lower is not None and self.lower > 1.0


@dataclasses.dataclass(frozen=True)
class Run:
    """What one run printed, and the folder that holds its folder."""

    summary: dict[str, Any]
    runs: pathlib.Path


@contextlib.contextmanager
def run(experiment: str, root: pathlib.Path, weigh: str) -> Iterator[Run]:
    """Runs an experiment file, in a folder that is thrown away."""
    with tempfile.TemporaryDirectory(prefix="weigh-differences-") as name:
        folder = pathlib.Path(name)
        file = folder / "experiment.toml"
        file.write_text(experiment)
        command = [weigh, "run", str(file), "--out", str(folder / "runs"), "--format", "json"]
        done = subprocess.run(
            command,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=dict(os.environ, WEIGH_SERVICES=str(root / "services")),
        )
        if done.returncode not in (0, INVALID):
            raise TryError(f"`{' '.join(command)}` ended with {done.returncode}: {done.stderr.strip()[-400:]}")
        yield Run(json.loads(done.stdout), folder / "runs")


def carry_out(case: Case, root: pathlib.Path, weigh: str, added_ns: int, seed: int, seconds: int | None = None) -> Try:
    """Tries a case once."""
    with run(experiment(case, weigh, added_ns, seed, seconds or case.budget), root, weigh) as done:
        return taken(case, added_ns, seed, done.summary, done.runs)


def taken(case: Case, added_ns: int, seed: int, summary: dict[str, Any], runs: pathlib.Path) -> Try:
    """From the run's JSON and folder to what is kept."""
    headline = next(cost for cost in summary["costs"] if cost["headline"])
    ratio = headline["ratio"] or {}
    baseline = next(variant for variant in summary["variants"] if variant["baseline"])
    wanted = case.quantity.replace(" ", "_")
    figure = next(figure for figure in baseline["figures"] if figure["quantity"] == wanted)
    spent = times(runs)
    return Try(
        case=case.name,
        seed=seed,
        at=now(),
        added_ns=added_ns,
        baseline_ns=(figure["estimate"] or {}).get("point"),
        point=ratio.get("point"),
        lower=ratio.get("lower"),
        upper=ratio.get("upper"),
        verdict=headline["verdict"],
        reason=headline["reason"],
        validity=summary["validity"],
        windows=spent.get("measured", 0.0) + spent.get("check", 0.0),
        lead_in=spent.get("lead-in", 0.0),
        warm_up=spent.get("warm-up", 0.0),
        took=summary["took_ns"] / 1e9,
    )


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def times(runs: pathlib.Path) -> dict[str, float]:
    """Seconds of windows by kind, from the tables of all trials."""
    spent: dict[str, float] = {}
    for table in runs.glob("*/trials/*/windows.csv"):
        with table.open(newline="") as lines:
            for row in csv.DictReader(lines):
                took = (int(row["ended_ns"]) - int(row["started_ns"])) / 1e9
                spent[row["kind"]] = spent.get(row["kind"], 0.0) + took
    return spent
