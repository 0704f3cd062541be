"""Reads what the study needs out of a run folder (docs/RECORD.md): windows, CPU time, pooled histograms. Computes nothing
but quantiles of histograms."""

from __future__ import annotations

import base64
import csv
import dataclasses
import json
import pathlib
import zlib
from collections.abc import Iterator

# HdrHistogram's V2 encoding, compressed and plain: the low bits of a cookie say how wide a count is.
COMPRESSED, PLAIN = 0x1C849304, 0x1C849303
COOKIE_MASK = ~0xF0
HEADER_BYTES = 40

# With three digits a bucket has 2,048 steps, and all but the first use the upper half of them.
HALF_BITS = 10
HALF = 1 << HALF_BITS


@dataclasses.dataclass(frozen=True)
class Window:
    """One window of one variant; times in ns. `requests` are good replies."""

    kind: str
    round: int
    position: int
    started: int
    ended: int
    requests: int
    total: int
    p50: int
    cpu: int | None
    cpu_requests: int | None

    @property
    def mean(self) -> float:
        return self.total / self.requests


@dataclasses.dataclass(frozen=True)
class Trial:
    """One life of a variant: its windows in the order they ran, and the p50 of all its measured requests."""

    windows: list[Window]
    pooled_p50: float | None

    def of(self, kind: str) -> list[Window]:
        return [window for window in self.windows if window.kind == kind]


@dataclasses.dataclass(frozen=True)
class Block:
    """Both variants of one block, in the experiment's order."""

    trials: list[Trial]


def blocks(run: pathlib.Path) -> list[Block]:
    """The blocks of a run that count."""
    found = []
    for path in sorted((run / "blocks").glob("*.json")):
        entries = sorted(json.loads(path.read_text())["trials"], key=lambda entry: entry["variant"])
        folders = [run / "trials" / entry["folder"] for entry in entries]
        facts = [json.loads((folder / "trial.json").read_text()) for folder in folders]
        if all(trial["void"] is None and trial["steal"] <= 0.1 for trial in facts):
            found.append(Block([trial_of(folder) for folder in folders]))
    return found


def trial_of(folder: pathlib.Path) -> Trial:
    with (folder / "resources.csv").open(newline="") as file:
        cpu = {row["window"]: row for row in csv.DictReader(file) if row["resource"] == "cpu"}
    windows = []
    with (folder / "windows.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if not row["all_ok"]:
                continue
            used = cpu.get(row["window"])
            windows.append(
                Window(
                    kind=row["kind"],
                    round=int(row["round"]),
                    position=int(row["position"]),
                    started=int(row["started_ns"]),
                    ended=int(row["ended_ns"]),
                    requests=int(row["all_ok"]),
                    total=int(row["all_response_sum_ns"]),
                    p50=int(row["all_response_p50_ns"]),
                    cpu=int(used["cpu_ns"]) if used else None,
                    cpu_requests=int(used["requests"]) if used else None,
                )
            )
    return Trial(windows, pooled_p50(folder / "total.hlog"))


def pooled_p50(log: pathlib.Path) -> float | None:
    """The median of all good replies in a trial's log, operations merged (the study has one)."""
    for line in log.read_text().splitlines():
        if line.startswith("Tag=point=0;operation=0;outcome=ok;time=response,"):
            return quantile(decode(line.rsplit(",", 1)[1]), 0.5)
    return None


def decode(text: str) -> list[int]:
    """The counts of a compressed histogram of three digits whose lowest value is 1, by position."""
    packed = base64.b64decode(text)
    if int.from_bytes(packed[:4], "big") & COOKIE_MASK != COMPRESSED & COOKIE_MASK:
        raise ValueError("no compressed histogram of version 2")
    plain = zlib.decompress(packed[8:])
    digits, lowest = int.from_bytes(plain[12:16], "big"), int.from_bytes(plain[16:24], "big")
    if int.from_bytes(plain[:4], "big") & COOKIE_MASK != PLAIN & COOKIE_MASK or (digits, lowest) != (3, 1):
        raise ValueError("no histogram of version 2 with three digits from 1 on")
    counts: list[int] = []
    for number in numbers(plain[HEADER_BYTES:]):
        # A number below zero is so many empty positions.
        counts.extend([0] * -number if number < 0 else [number])
    return counts


def numbers(data: bytes) -> Iterator[int]:
    """Signed numbers in ZigZag LEB128, of which a ninth byte counts whole."""
    at = 0
    while at < len(data):
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            if shift == 56:
                value |= byte << shift
                break
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        yield (value >> 1) ^ -(value & 1)


def edges(position: int) -> tuple[int, int]:
    """The smallest value that is counted at a position, and the smallest that is not any more."""
    bucket, step = (position >> HALF_BITS) - 1, (position & (HALF - 1)) + HALF
    if bucket < 0:
        bucket, step = 0, step - HALF
    return step << bucket, (step + 1) << bucket


def quantile(counts: list[int], share: float) -> float:
    """A quantile, even within a position, so that steps of a thousandth do not show."""
    wanted = share * sum(counts)
    seen = 0
    for position, count in enumerate(counts):
        if count and seen + count >= wanted:
            low, high = edges(position)
            return low + (high - low) * (wanted - seen) / count
        seen += count
    raise ValueError("an empty histogram has no quantile")
