"""One run of a program beside itself, and what it said of each quantity. Judges nothing."""

from __future__ import annotations

import csv
import dataclasses
import pathlib
import statistics
import tempfile
from typing import Any

from differences.cases import Case
from differences.tries import TryError, now, run

from .cases import ADDED_NS, QUANTITIES, Setup, experiment


@dataclasses.dataclass(frozen=True)
class Cost:
    """The second variant's figure over the baseline's, with its interval."""

    point: float
    lower: float
    upper: float

    @property
    def excludes_0(self) -> bool:
        return self.lower > 1.0 or self.upper < 1.0


@dataclasses.dataclass(frozen=True)
class Try:
    """One run. `costs` by quantity, those with an interval. Where something was planted, `difference_ns` is what the
    run said of its headline, and `truth_ns` what the probes' own records say."""

    case: str
    number: int
    at: str
    setup: Setup
    costs: dict[str, Cost]
    difference_ns: float | None
    truth_ns: float | None
    validity: str
    took: float

    @classmethod
    def read(cls, line: dict[str, Any]) -> Try:
        """From a line of a book."""
        fields = {key: value for key, value in line.items() if key != "kind"}
        fields["setup"] = Setup(**line["setup"])
        fields["costs"] = {quantity: Cost(**cost) for quantity, cost in line["costs"].items()}
        return cls(**fields)


def carry_out(case: Case, number: int, here: Setup, copies: tuple[str, str], root: pathlib.Path) -> Try:
    """Makes a case's run of this number."""
    with tempfile.TemporaryDirectory(prefix="weigh-position-") as name:
        text = experiment(case, here, copies, name, number + 1)
        with run(text, root, copies[0]) as done:
            truth = planted(pathlib.Path(name)) if ADDED_NS[case.name] else None
            return taken(case, number, here, done.summary, truth)


def taken(case: Case, number: int, here: Setup, summary: dict[str, Any], truth: float | None) -> Try:
    """From a run's JSON to what is kept."""
    headline = next(cost for cost in summary["costs"] if cost["headline"])
    return Try(
        case=case.name,
        number=number,
        at=now(),
        setup=here,
        costs=dict(_costs(summary)),
        difference_ns=(headline["difference"] or {}).get("point"),
        truth_ns=truth,
        validity=summary["validity"],
        took=summary["took_ns"] / 1e9,
    )


def _costs(summary: dict[str, Any]) -> list[tuple[str, Cost]]:
    found = []
    for quantity in QUANTITIES:
        name = quantity.replace(" ", "_")
        ratio = next((cost["ratio"] for cost in summary["costs"] if cost["quantity"] == name), None)
        if ratio and ratio["lower"] is not None:
            found.append((quantity, Cost(ratio["point"], ratio["lower"], ratio["upper"])))
    return found


def planted(records: pathlib.Path) -> float:
    """By how much the second probe's requests took longer, by both probes' own records: medians over all their lives."""
    medians = [statistics.median(spent(records / place)) for place in ("0", "1")]
    return medians[1] - medians[0]


def spent(folder: pathlib.Path) -> list[int]:
    """For how long a probe kept each request, in ns."""
    found: list[int] = []
    for path in sorted(folder.glob("*.csv")):
        with path.open(newline="") as file:
            found.extend(int(row["end_ns"]) - int(row["begin_ns"]) for row in csv.DictReader(file))
    if not found:
        raise TryError(f"the probe left no record in `{folder}`")
    return found
