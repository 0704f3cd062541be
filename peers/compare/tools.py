"""What every tool is: where it comes from, which cases it speaks, its command line, and how its output is read.

A tool is one small class. It neither runs anything nor judges: `command` and `parse` are functions of values. The tools
themselves are in `tools_http`, `tools_grpc` and `tools_kv`; `weigh` and the bare loop are in `tools_ours`.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
import subprocess
from collections.abc import Sequence

from .cases import Case, Protocol
from .install import Installer, Recipe
from .measure import CommandError, Finished
from .servers import Target


class ParseError(Exception):
    """A tool's output is not what its parser knows; the message names the tool and what was sought."""


@dataclasses.dataclass(frozen=True)
class Job:
    """One run of a tool. `rate_hint` is what it reached in its run before, for those that count instead of time."""

    case: Case
    target: Target
    seconds: int
    folder: pathlib.Path
    rate_hint: float | None = None


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a tool says of its run. Times in microseconds; `None` where it does not say, or not finely enough.

    `requests` counts completed ones without `errors`. `offered` is requests due per second of open load.
    """

    requests: int
    errors: int
    seconds: float
    p50_us: float | None = None
    p99_us: float | None = None
    offered: float | None = None
    lag_p99_us: float | None = None
    remark: str | None = None
    mean_us: float | None = None

    @property
    def rate(self) -> float:
        return self.requests / self.seconds


class Tool:
    """One tool. `path` is set once it has been found."""

    name: str
    recipe: Recipe
    path: str = ""
    on_demand = False
    """Takes part only when `--tools` names it: it is slow to build."""
    codes: tuple[int, ...] = (0,)
    """Exit codes after which the output counts."""

    def find(self, installer: Installer) -> None:
        self.path = installer.have(self.recipe)

    def version(self) -> str:
        raise NotImplementedError

    def command(self, job: Job) -> Sequence[str]:
        raise NotImplementedError

    def parse(self, output: Finished, job: Job) -> Outcome:
        raise NotImplementedError

    def slack(self, case: Case) -> int:
        """Requests that the server may have seen and the tool not counted: those cut off at the end."""
        return case.connections * case.in_flight


def ask(*command: str, ending: str = "") -> str:
    """First line of what a program says about itself, on either stream, whatever its exit code; of those that end so."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20, check=False)
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines()]
    return next((line for line in lines if line and re.search(f"{ending}$", line)), "?")


def sought(tool: str, what: str, text: str) -> ParseError:
    return ParseError(f"{tool}: no {what} in its output, which ends with: {text.strip()[-300:]!r}")


def is_http1(case: Case) -> bool:
    return case.protocol in (Protocol.HTTP1, Protocol.HTTPS)


__all__ = ["CommandError", "Job", "Outcome", "ParseError", "Tool", "ask", "is_http1", "sought"]
