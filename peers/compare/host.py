"""Facts about the host that a reader needs to judge the figures. Reads /proc and /sys; an unknown fact is `None`."""

from __future__ import annotations

import os
import pathlib
import platform
import re
import subprocess
import time
from typing import Any


def _text(path: str) -> str | None:
    try:
        return pathlib.Path(path).read_text().strip()
    except OSError:
        return None


def facts(root: pathlib.Path, server_core: int, client_core: int) -> dict[str, Any]:
    """What is recorded beside every result."""
    processor = _text("/proc/cpuinfo") or ""
    model = re.search(r"model name\s*:\s*(.*)", processor)
    memory = re.search(r"MemTotal:\s+(\d+) kB", _text("/proc/meminfo") or "")
    return {
        "cpu": model.group(1) if model else platform.machine(),
        "virtual": "hypervisor" in processor,
        "cores": os.cpu_count(),
        "server_core": server_core,
        "client_core": client_core,
        "smt": _text("/sys/devices/system/cpu/smt/control"),
        "governor": _text(f"/sys/devices/system/cpu/cpu{client_core}/cpufreq/scaling_governor"),
        "memory_bytes": int(memory.group(1)) * 1024 if memory else None,
        "kernel": platform.release(),
        "clock_source": _text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "load_average": os.getloadavg()[0],
        "revision": revision(root),
    }


def revision(root: pathlib.Path) -> str | None:
    """The commit that `weigh` was built from, if the clone is one and was not changed since."""
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Steal:
    """The share of time that the hypervisor took from some cores since the last question, in ticks of 10 ms."""

    def __init__(self, cores: set[int]) -> None:
        self.names = {f"cpu{core}" for core in cores}
        self.before = self._ticks()

    def _ticks(self) -> tuple[int, int]:
        lines = (_text("/proc/stat") or "").splitlines()
        rows = [[int(field) for field in line.split()[1:9]] for line in lines if line.split()[0] in self.names]
        return sum(row[7] for row in rows), sum(sum(row) for row in rows)

    def share(self) -> float:
        after = self._ticks()
        stolen, total = after[0] - self.before[0], after[1] - self.before[1]
        self.before = after
        return stolen / total if total > 0 else 0.0
