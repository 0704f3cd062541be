"""A soak's record, read: what each process held, what loads and visitors counted, how the run grew. Pure."""

from __future__ import annotations

import dataclasses
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from .figures import Held, held, pieces, theil_sen
from .sample import Sample

# Before that a run starts its first block; its memory then is not that of its records.
SETTLED_BLOCKS = 20


@dataclasses.dataclass(frozen=True)
class Growth:
    """Memory of the run a block, with a 95 % interval, beside what a block has on disk."""

    kib_per_block: float
    lower: float
    upper: float
    written_kib_per_block: float

    @property
    def within(self) -> bool:
        return self.kib_per_block <= self.written_kib_per_block


@dataclasses.dataclass(frozen=True)
class Record:
    """All that a soak wrote down."""

    host: dict[str, Any]
    samples: dict[str, list[Sample]]
    held: list[Held]
    loads: list[tuple[str, int, str]]
    visitors: dict[str, int]
    early: list[str]
    blocks: int
    of: int
    growth: Growth | None
    report: dict[str, Any] | None

    def problems(self) -> list[str]:
        """What breaks the rule; empty if nothing does."""
        found = [f"`{who}` ended early" for who in self.early]
        for one in self.held:
            if one.who != "run" and not one.memory_flat:
                found.append(f"memory of `{one.who}` by {one.memory.growth / 1024:+.1f} MiB")
            if not one.descriptors_flat:
                found.append(f"descriptors of `{one.who}` by {one.descriptors.growth:+g}")
        if self.growth and not self.growth.within:
            found.append(f"the run grew by {self.growth.kib_per_block:.1f} KiB a block and wrote less")
        if not self.of:
            found.append("the soak was not held to its end")
        if self.blocks < self.of:
            found.append(f"the run made {self.blocks:,} of {self.of:,} blocks")
        return found


def growth(samples: Sequence[Sample], progress: Sequence[dict[str, Any]]) -> Growth | None:
    """By the samples nearest to each count of blocks."""
    pairs = []
    for seen in progress:
        nearest = min(samples, key=lambda sample: abs(sample.at - seen["at"]), default=None)
        if nearest and abs(nearest.at - seen["at"]) <= 15 and seen["blocks"] >= SETTLED_BLOCKS:
            pairs.append((float(seen["blocks"]), float(nearest.rss_kib)))
    middles = [max(span) for span in pieces(pairs, 48)]
    slope = theil_sen(middles)
    if not slope:
        return None
    last = progress[-1]
    return Growth(slope.point, slope.lower, slope.upper, last["run_bytes"] / 1024 / last["blocks"])


def counted(said: str) -> tuple[int, str]:
    """Requests that were due, and the kinds of failures, of what `weigh load` prints."""
    due = re.search(r"([\d,]+) requests in ", said)
    failed = re.search(r"([\d,]+) of [\d,]+ requests failed: (.*)", said)
    unsent = re.search(r"([\d,]+) of [\d,]+ requests that were due were never sent", said)
    parts = [failed.group(2)] if failed else []
    parts += [f"{unsent.group(1)} never sent"] if unsent else []
    return int(due.group(1).replace(",", "")) if due else 0, "; ".join(parts) or "none"


def read(lines: Iterable[dict[str, Any]]) -> Record:
    """Lines as they were written, in their order."""
    by_kind: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in lines:
        by_kind[line["kind"]].append(line)
    samples: dict[str, list[Sample]] = defaultdict(list)
    for line in by_kind["sample"]:
        sample = Sample.read(line)
        samples[sample.who].append(sample)
    run = by_kind["run"][-1] if by_kind["run"] else {"blocks": 0, "of": 0}
    minutes = by_kind["host"][-1]["minutes"] if by_kind["host"] else 0
    early = [line["who"] for line in by_kind["ended"] if line["who"] != "run" and line["at"] < minutes * 60 - 30]
    return Record(
        host=by_kind["host"][-1] if by_kind["host"] else {},
        samples=dict(samples),
        held=[held(who, seen) for who, seen in samples.items()],
        loads=[(line["who"].removeprefix("load "), *counted(line["said"])) for line in by_kind["load"]],
        visitors=by_kind["visitors"][-1]["counts"] if by_kind["visitors"] else {},
        early=early,
        blocks=run["blocks"],
        of=run["of"],
        growth=growth(samples.get("run", []), by_kind["progress"]),
        report=by_kind["report"][-1] if by_kind["report"] else None,
    )


__all__ = ["Growth", "Record", "counted", "growth", "read"]
