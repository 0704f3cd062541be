"""Tools that speak HTTP: wrk, wrk2, oha, h2load, hey, fortio, vegeta, k6."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
from collections.abc import Sequence
from typing import Any

from .cases import Case, Protocol
from .install import Recipe
from .measure import Finished
from .tools import Job, Outcome, Tool, ask, sought

_MICROSECONDS = {"us": 1.0, "ms": 1e3, "s": 1e6, "m": 60e6, "h": 3600e6}


def micros(text: str) -> float:
    """`1.23ms` as microseconds; units as wrk and h2load print them."""
    match = re.fullmatch(r"([\d.]+)(us|ms|s|m|h)", text)
    if match is None:
        raise ValueError(f"`{text}` is no time")
    return float(match.group(1)) * _MICROSECONDS[match.group(2)]


def as_json(tool: str, text: str) -> Any:
    """The object that a tool printed; lines before it are skipped."""
    start = text.find("{")
    try:
        return json.loads(text[start:])
    except ValueError:
        raise sought(tool, "JSON", text) from None


class Wrk(Tool):
    """wrk. Its latencies are service times; missing samples are filled in by its `stats_correct`."""

    name = "wrk"
    recipe = Recipe("wrk", package="wrk")

    def version(self) -> str:
        return ask(self.path, "-v").split(" Copyright")[0]

    def command(self, job: Job) -> Sequence[str]:
        load = ["-t", "1", "-c", str(job.case.connections), "-d", f"{job.seconds}s", "--latency"]
        return [self.path, *load, job.target.url]

    def parse(self, output: Finished, job: Job) -> Outcome:
        text = output.stdout
        total = re.search(r"(\d+) requests in ", text)
        rate = re.search(r"Requests/sec:\s+([\d.]+)", text)
        if total is None or rate is None:
            raise sought(self.name, "`requests in` and `Requests/sec`", text)
        bad = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
        broken = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", text)
        failed = int(bad.group(1)) if bad else 0
        return Outcome(
            requests=int(total.group(1)) - failed,
            errors=failed + sum(map(int, broken.groups())) if broken else failed,
            # `in 3.00s` is rounded.
            seconds=int(total.group(1)) / max(float(rate.group(1)), 1e-9),
            mean_us=self._mean(text),
            p50_us=self._percentile(text, 50),
            p99_us=self._percentile(text, 99),
        )

    def _mean(self, text: str) -> float | None:
        found = re.search(r"^\s*Latency\s+([\d.]+(?:us|ms|s|m|h))\s", text, re.MULTILINE)
        return micros(found.group(1)) if found else None

    def _percentile(self, text: str, percent: int) -> float:
        found = re.search(rf"^\s*{percent}(?:\.0+)?%\s+([\d.]+(?:us|ms|s|m|h))\s*$", text, re.MULTILINE)
        if found is None:
            raise sought(self.name, f"{percent}%", text)
        return micros(found.group(1))


class Wrk2(Wrk):
    """wrk2: open load, latency from the moment a request was due.

    It calibrates for 10 s before it records anything, so its turns are never shorter than twice that.
    """

    name = "wrk2"
    recipe = Recipe("wrk2", by_hand="build github.com/giltene/wrk2 and put its `wrk` on PATH as `wrk2`")

    def command(self, job: Job) -> Sequence[str]:
        *load, url = super().command(dataclasses.replace(job, seconds=max(job.seconds, 20)))
        return [*load, "-R", str(job.case.rate), url]

    def parse(self, output: Finished, job: Job) -> Outcome:
        said = super().parse(output, job)
        return Outcome(**{**vars(said), "offered": float(job.case.rate or 0)})


class Oha(Tool):
    """oha, on hyper and tokio."""

    name = "oha"
    recipe = Recipe("oha", crate="oha", version="1.14.0")

    def version(self) -> str:
        return ask(self.path, "--version")

    def command(self, job: Job) -> Sequence[str]:
        load = ["-z", f"{job.seconds}s", "-c", str(job.case.connections), "--insecure", "-r", "0"]
        return [self.path, "--no-tui", "--output-format", "json", *load, job.target.url]

    def parse(self, output: Finished, job: Job) -> Outcome:
        said = as_json(self.name, output.stdout)
        by_status = {int(status): count for status, count in said["statusCodeDistribution"].items()}
        good = sum(count for status, count in by_status.items() if 200 <= status < 300)
        # What the end of the time cut off is no error of anybody.
        broken = sum(count for kind, count in said["errorDistribution"].items() if kind != "aborted due to deadline")
        times = said["latencyPercentiles"]
        return Outcome(
            requests=good,
            errors=sum(by_status.values()) - good + broken,
            seconds=said["summary"]["total"],
            mean_us=said["summary"]["average"] * 1e6,
            p50_us=times["p50"] * 1e6,
            p99_us=times["p99"] * 1e6,
        )


class H2load(Tool):
    """h2load: HTTP/1.1, HTTP/2, and gRPC as raw frames with a recorded body, of which it checks the HTTP status alone.

    Versions before 1.66 print no percentiles, only a mean.
    """

    name = "h2load"
    recipe = Recipe("h2load", package="nghttp2-client")

    def version(self) -> str:
        return ask(self.path, "--version")

    def command(self, job: Job) -> Sequence[str]:
        case, target = job.case, job.target
        load = ["-t", "1", "-c", str(case.connections), "-m", str(case.in_flight), "-D", str(job.seconds)]
        if case.protocol is Protocol.GRPC:
            recorded = job.folder / "grpc-request"
            recorded.write_bytes(grpc_frame(case.body_bytes))
            headers = ["-H", "content-type: application/grpc", "-H", "te: trailers"]
            return [self.path, *load, *headers, "-d", str(recorded), target.url.replace("grpc://", "http://")]
        return [self.path, *load, *([] if case.protocol is Protocol.HTTP2 else ["--h1"]), target.url]

    def parse(self, output: Finished, job: Job) -> Outcome:
        text = output.stdout
        ended = re.search(r"finished in ([\d.]+(?:us|ms|s|m|h)), ([\d.]+) req/s", text)
        counts = re.search(r"(\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout", text)
        if ended is None or counts is None:
            raise sought(self.name, "`finished in` and `succeeded`", text)
        # `failed` holds the other two.
        good, failed = int(counts.group(1)), int(counts.group(2))
        return Outcome(
            requests=good,
            errors=failed,
            # The time it divides by; `finished in` holds connecting and closing too.
            seconds=(good + failed) / float(ended.group(2)) if float(ended.group(2)) else micros(ended.group(1)) / 1e6,
            p50_us=self._column(text, ("median", "p50")),
            p99_us=self._column(text, ("p99",)),
        )

    @staticmethod
    def _column(text: str, names: Sequence[str]) -> float | None:
        """A column of the line `time for request` (newer: `request`), by the header above it."""
        header = re.search(r"^ {4,}(min .*|min\s.*)$", text, re.MULTILINE)
        row = re.search(r"^(?:time for )?request\s*:\s*(.*)$", text, re.MULTILINE)
        if header is None or row is None:
            return None
        titles = re.split(r"\s{2,}", header.group(1).strip())
        for name in names:
            if name in titles:
                return micros(row.group(1).split()[titles.index(name)])
        return None


def grpc_frame(size: int) -> bytes:
    """A PongRequest of services/proto/pong.proto as it travels: not compressed, its length, `uint32 size = 1`."""
    value, digits = size, bytearray()
    while value >= 0x80:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    message = bytes([1 << 3, *digits, value])
    return b"\0" + len(message).to_bytes(4, "big") + message


class Hey(Tool):
    """hey. It prints times in steps of 100 µs, so percentiles below 1 ms are left out."""

    name = "hey"
    recipe = Recipe("hey", module="github.com/rakyll/hey", version="v0.1.5")

    def version(self) -> str:
        return f"hey {self.recipe.version}"

    def command(self, job: Job) -> Sequence[str]:
        load = ["-z", f"{job.seconds}s", "-c", str(job.case.connections), "-disable-redirects"]
        return [self.path, *load, job.target.url]

    def parse(self, output: Finished, job: Job) -> Outcome:
        text = output.stdout
        total = re.search(r"Total:\s+([\d.]+) secs", text)
        statuses = re.findall(r"\[(\d+)\]\s+(\d+) responses", text)
        errors = sum(int(count) for count in re.findall(r"^\s*\[(\d+)\]\t.*: ", text, re.MULTILINE))
        if total is None or not (statuses or errors):
            raise sought(self.name, "`Total` and responses by status", text)
        good = sum(int(count) for status, count in statuses if status.startswith("2"))
        return Outcome(
            requests=good,
            errors=sum(int(count) for _, count in statuses) - good + errors,
            seconds=float(total.group(1)),
            p50_us=self._percentile(text, 50),
            p99_us=self._percentile(text, 99),
        )

    @staticmethod
    def _percentile(text: str, percent: int) -> float | None:
        found = re.search(rf"^\s*{percent}%+ in ([\d.]+) secs", text, re.MULTILINE)
        time = float(found.group(1)) * 1e6 if found else 0.0
        return time if time >= 1000 else None


class Fortio(Tool):
    """fortio. Percentiles are interpolated in its histogram, whose resolution is set to 1 µs."""

    name = "fortio"
    recipe = Recipe("fortio", module="fortio.org/fortio", version="v1.66.5")

    def version(self) -> str:
        return f"fortio {ask(self.path, 'version')}"

    def command(self, job: Job) -> Sequence[str]:
        load = ["-qps", "0", "-c", str(job.case.connections), "-t", f"{job.seconds}s"]
        shown = ["-r", "0.000001", "-p", "50,99", "-quiet", "-json", "-", "-k"]
        return [self.path, "load", *load, *shown, job.target.url]

    def parse(self, output: Finished, job: Job) -> Outcome:
        said = as_json(self.name, output.stdout)
        by_status = {int(status): count for status, count in said["RetCodes"].items()}
        good = sum(count for status, count in by_status.items() if 200 <= status < 300)
        times = {entry["Percentile"]: entry["Value"] * 1e6 for entry in said["DurationHistogram"]["Percentiles"]}
        return Outcome(
            requests=good,
            errors=sum(by_status.values()) - good,
            seconds=said["ActualDuration"] / 1e9,
            p50_us=times[50],
            p99_us=times[99],
        )

    def slack(self, case: Case) -> int:
        """Each connection begins with a request that it does not count."""
        return 2 * case.connections


class Vegeta(Tool):
    """vegeta: open load at a constant rate. Attack and report are both its cost."""

    name = "vegeta"
    recipe = Recipe("vegeta", by_hand="get it from github.com/tsenart/vegeta")

    def version(self) -> str:
        return ask("sh", "-c", f"{shlex.quote(self.path)} -version | tr '\\n' ' '")

    def command(self, job: Job) -> Sequence[str]:
        case, vegeta = job.case, shlex.quote(self.path)
        attack = f"{vegeta} attack -rate={case.rate}/1s -duration={job.seconds}s -connections={case.connections}"
        target = f"echo GET {shlex.quote(job.target.url)}"
        return ["sh", "-c", f"{target} | {attack} -redirects=-1 -insecure | {vegeta} report -type=json"]

    def parse(self, output: Finished, job: Job) -> Outcome:
        said = as_json(self.name, output.stdout)
        good = sum(count for status, count in said["status_codes"].items() if status.startswith("2"))
        return Outcome(
            requests=good,
            errors=said["requests"] - good,
            seconds=(said["duration"] + said["wait"]) / 1e9,
            p50_us=said["latencies"]["50th"] / 1e3,
            p99_us=said["latencies"]["99th"] / 1e3,
            offered=float(job.case.rate or 0),
        )


_K6_SCRIPT = """\
import http from 'k6/http';
export const options = {
  vus: %(users)d, duration: '%(seconds)ds', discardResponseBodies: true, insecureSkipTLSVerify: true,
  summaryTrendStats: ['p(50)', 'p(99)'],
};
export default function () { http.get('%(url)s'); }
export function handleSummary(data) { return { stdout: JSON.stringify(data) }; }
"""


class K6(Tool):
    """k6: one virtual user for each connection. Slow to build, so only when asked for by name."""

    name = "k6"
    recipe = Recipe("k6", module="go.k6.io/k6", version="v1.8.1")
    on_demand = True

    def version(self) -> str:
        return ask(self.path, "version")

    def command(self, job: Job) -> Sequence[str]:
        script = job.folder / "k6.js"
        facts = {"users": job.case.connections, "seconds": job.seconds, "url": job.target.url}
        script.write_text(_K6_SCRIPT % facts)
        return [self.path, "run", "--quiet", "--no-usage-report", str(script)]

    def parse(self, output: Finished, job: Job) -> Outcome:
        said = as_json(self.name, output.stdout)
        metrics = said["metrics"]
        total, failed = metrics["http_reqs"]["values"]["count"], metrics["http_req_failed"]["values"]["passes"]
        times = metrics["http_req_duration"]["values"]
        return Outcome(
            requests=total - failed,
            errors=failed,
            seconds=said["state"]["testRunDurationMs"] / 1e3,
            p50_us=times["p(50)"] * 1e3,
            p99_us=times["p(99)"] * 1e3,
        )
