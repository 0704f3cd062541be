"""What a process holds at one moment, from /proc."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from typing import Any

TICKS = os.sysconf("SC_CLK_TCK")


@dataclasses.dataclass(frozen=True)
class Sample:
    """One line of the record."""

    at: float  # seconds since the soak began
    who: str
    pid: int
    rss_kib: int
    pss_kib: int
    descriptors: int
    threads: int
    cpu_s: float

    def line(self) -> dict[str, object]:
        return {"kind": "sample", **dataclasses.asdict(self)}

    @classmethod
    def read(cls, line: dict[str, Any]) -> Sample:
        return cls(**{key: value for key, value in line.items() if key != "kind"})


def _fields(text: str) -> dict[str, str]:
    return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)


def _kib(fields: dict[str, str], key: str) -> int:
    return int(fields.get(key, "0 kB").split()[0])


def take(at: float, who: str, pid: int, proc: pathlib.Path = pathlib.Path("/proc")) -> Sample | None:
    """`None` of a process that has ended."""
    folder = proc / str(pid)
    try:
        status = _fields((folder / "status").read_text())
        rollup = _fields((folder / "smaps_rollup").read_text())
        descriptors = len(os.listdir(folder / "fd"))
        behind_name = (folder / "stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return None
    if "VmRSS" not in status:
        return None
    cpu = (int(behind_name[11]) + int(behind_name[12])) / TICKS
    threads = int(status.get("Threads", "0"))
    return Sample(round(at, 1), who, pid, _kib(status, "VmRSS"), _kib(rollup, "Pss"), descriptors, threads, cpu)


__all__ = ["Sample", "take"]
