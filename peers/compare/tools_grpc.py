"""Tools that speak gRPC with real messages: ghz. (h2load sends raw frames; see `tools_http`.)"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Sequence

from .install import Recipe
from .measure import Finished
from .servers import HOST
from .tools import Job, Outcome, Tool, ask, sought
from .tools_ours import PROTOS, request_json

_MICROSECONDS = {"ns": 1e-3, "µs": 1.0, "us": 1.0, "ms": 1e3, "s": 1e6}


class Ghz(Tool):
    """ghz. Its JSON holds every single call, which would cost it more than the calls, so its summary is read."""

    name = "ghz"
    recipe = Recipe("ghz", module="github.com/bojand/ghz/cmd/ghz", version="v0.121.0")

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root

    def version(self) -> str:
        said = ask(self.path, "--version")
        # Built from the module, it says `dev`.
        return f"ghz {self.recipe.version if said == 'dev' else said}"

    def command(self, job: Job) -> Sequence[str]:
        case = job.case
        proto = self.root / PROTOS[case.workload]
        call = ["--proto", str(proto), "--import-paths", str(proto.parent), "--call", job.target.path.strip("/")]
        workers = ["--connections", str(case.connections), "-c", str(case.connections * case.in_flight)]
        load = [*workers, "--cpus", "1", "-z", f"{job.seconds}s", "--duration-stop", "ignore"]
        message = ["-d", request_json(case)]
        return [self.path, "--insecure", *call, *load, *message, "-O", "summary", f"{HOST}:{job.target.port}"]

    def parse(self, output: Finished, job: Job) -> Outcome:
        text = output.stdout
        total = re.search(r"Count:\s+(\d+)\s", text)
        rate = re.search(r"Requests/sec:\s+([\d.]+)", text)
        statuses = re.findall(r"\[(\w+)\]\s+(\d+) responses", text)
        if total is None or rate is None or not statuses:
            raise sought(self.name, "`Count`, `Requests/sec` and responses by status", text)
        good = sum(int(count) for status, count in statuses if status == "OK")
        return Outcome(
            requests=good,
            errors=sum(int(count) for _, count in statuses) - good,
            seconds=int(total.group(1)) / max(float(rate.group(1)), 1e-9),
            p50_us=self._percentile(text, 50),
            p99_us=self._percentile(text, 99),
        )

    def _percentile(self, text: str, percent: int) -> float:
        found = re.search(rf"^\s*{percent} % in ([\d.]+) (ns|µs|us|ms|s)", text, re.MULTILINE)
        if found is None:
            raise sought(self.name, f"{percent} %", text)
        return float(found.group(1)) * _MICROSECONDS[found.group(2)]
