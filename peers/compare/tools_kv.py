"""Tools that speak to key-value stores: redis-benchmark, memtier_benchmark, mutilate."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence

from .cases import Case, Protocol
from .install import Recipe
from .measure import Finished
from .servers import HOST, KEY
from .tools import Job, Outcome, Tool, ask, sought
from .tools_http import as_json
from .tools_ours import words

# Before a rate is known; a second of a slow machine.
_FIRST_REQUESTS_PER_SECOND = 30_000


class RedisBenchmark(Tool):
    """redis-benchmark. It is given a count, chosen from the rate it reached before, and sends exactly that many."""

    name = "redis-benchmark"
    recipe = Recipe("redis-benchmark", package="redis-tools")

    def version(self) -> str:
        return ask(self.path, "--version")

    @staticmethod
    def count(job: Job) -> int:
        per_second = job.rate_hint or _FIRST_REQUESTS_PER_SECOND
        return max(1000, int(per_second * job.seconds))

    def command(self, job: Job) -> Sequence[str]:
        case = job.case
        load = ["-c", str(case.connections), "-n", str(self.count(job)), "-P", str(case.in_flight)]
        return [self.path, "-h", HOST, "-p", str(job.target.port), *load, "--csv", *words(case).split()]

    def parse(self, output: Finished, job: Job) -> Outcome:
        start = output.stdout.find('"test"')
        rows = list(csv.DictReader(io.StringIO(output.stdout[start:]))) if start >= 0 else []
        if len(rows) != 1:
            raise sought(self.name, "one row of CSV", output.stdout + output.stderr)
        # It prints no count; it ends only when all have been answered, and with another code where one was an error.
        requests = self.count(job)
        return Outcome(
            requests=requests,
            errors=(output.stdout + output.stderr).count("Error from server"),
            seconds=requests / float(rows[0]["rps"]),
            p50_us=float(rows[0]["p50_latency_ms"]) * 1e3,
            p99_us=float(rows[0]["p99_latency_ms"]) * 1e3,
        )

    def slack(self, case: Case) -> int:
        """With pipelining it may send up to a batch more for each connection."""
        return case.connections * case.in_flight


class Memtier(Tool):
    """memtier_benchmark, for Redis and memcached, one key, GET or SET only."""

    name = "memtier"
    recipe = Recipe("memtier_benchmark", by_hand="get it from github.com/redis/memtier_benchmark")

    def version(self) -> str:
        return ask(self.path, "--version")

    def command(self, job: Job) -> Sequence[str]:
        case = job.case
        protocol = "redis" if case.protocol is Protocol.RESP else "memcache_text"
        where = ["-s", HOST, "-p", str(job.target.port), "-P", protocol, "--hide-histogram"]
        load = ["-t", "1", "-c", str(case.connections), "--pipeline", str(case.in_flight), f"--test-time={job.seconds}"]
        # Its keys are a prefix and a number; ours, which the store has been given, ends with 1.
        keys = [
            f"--key-prefix={KEY.removesuffix('1')}",
            "--key-minimum=1",
            "--key-maximum=1",
            f"--data-size={case.body_bytes}",
        ]
        ratio = "--ratio=0:1" if case.command == "GET" else "--ratio=1:0"
        return [self.path, *where, *load, *keys, ratio, f"--json-out-file={self._file(job)}"]

    @staticmethod
    def _file(job: Job) -> str:
        return str(job.folder / "memtier.json")

    def parse(self, output: Finished, job: Job) -> Outcome:
        with open(self._file(job), encoding="utf-8") as file:
            return self.read(file.read())

    def read(self, text: str) -> Outcome:
        said = as_json(self.name, text)["ALL STATS"]
        totals = said["Totals"]
        times = totals.get("Percentile Latencies", {})
        seconds = said["Runtime"]["Total duration"] / 1e3
        # A GET that finds nothing is a shorter reply, and not what was asked for.
        missed = round(float(totals.get("Misses/sec", 0.0)) * seconds)
        return Outcome(
            requests=totals["Count"] - missed,
            errors=int(totals.get("Connection Errors", 0)) + missed,
            seconds=seconds,
            p50_us=times["p50.00"] * 1e3 if "p50.00" in times else None,
            p99_us=times["p99.00"] * 1e3 if "p99.00" in times else None,
        )


class Mutilate(Tool):
    """mutilate, for memcached. Its closed loop here: no rate, one request outstanding on each connection."""

    name = "mutilate"
    recipe = Recipe("mutilate", by_hand="get it from github.com/leverich/mutilate")

    def version(self) -> str:
        return ask(self.path, "--version")

    def command(self, job: Job) -> Sequence[str]:
        case = job.case
        load = ["-T", "1", "-c", str(case.connections), "-d", str(case.in_flight), "-t", str(job.seconds)]
        keys = ["-r", "1", f"-V{case.body_bytes}"]
        return [self.path, "-s", f"{HOST}:{job.target.port}", *load, *keys]

    def parse(self, output: Finished, job: Job) -> Outcome:
        text = output.stdout
        total = re.search(r"Total QPS = [\d.]+ \((\d+) / ([\d.]+)s\)", text)
        header = re.search(r"^#type\s+(.*)$", text, re.MULTILINE)
        row = re.search(r"^read\s+(.*)$", text, re.MULTILINE)
        misses = re.search(r"Misses = (\d+)", text)
        if not (total and header and row and misses):
            raise sought(self.name, "`Total QPS`, `Misses` and the row `read`", text)
        times = dict(zip(header.group(1).split(), map(float, row.group(1).split()), strict=True))
        return Outcome(
            requests=int(total.group(1)) - int(misses.group(1)),
            errors=int(misses.group(1)),
            seconds=float(total.group(2)),
            p50_us=times.get("50th"),
            p99_us=times.get("99th"),
        )

    def slack(self, case: Case) -> int:
        """It sets its keys first."""
        return case.connections * case.in_flight + 2
