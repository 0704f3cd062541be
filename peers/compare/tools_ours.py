"""`weigh load`, `weigh run` where the workload is `person` or `trade`, and the bare loop under them."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Sequence
from typing import Any

from .cases import Case, Protocol, Workload
from .install import Installer, Recipe, Unavailable, build
from .measure import Finished
from .servers import HOST, KEY, body, exchange
from .tools import Job, Outcome, Tool, ask, sought

PROTOS = {
    Workload.PINGPONG: pathlib.Path("services/proto/pong.proto"),
    Workload.PERSON: pathlib.Path("services/person/person.proto"),
}

# `weigh load` knows no workload: of a call it checks the status alone. A run compares every reply with the person.
# On the one core that a client has here it sleeps while it waits, as `weigh load` does.
_EXPERIMENT = """\
[workload]
{workload}

[load]
connections = {connections}
in_flight = {in_flight}
warmup = "50 ms"

[plan]
blocks = {{ min = 1, max = 1 }}
budget = "{seconds} s"
idle = "host"

[[variant]]
url = "http://{host}:{port}"
protocol = "{protocol}"
"""


class Weigh(Tool):
    """What is measured. Its response time counts from when a request is due, most peers' from when it is sent."""

    name = "weigh"
    recipe = Recipe("weigh")
    # 3: it judged its own figures invalid, on a busy machine for instance. They count here, and the remark is shown.
    codes = (0, 3)

    def __init__(self, path: str, root: pathlib.Path) -> None:
        self.path = path
        self.root = root

    def find(self, installer: Installer) -> None:
        del installer
        if not pathlib.Path(self.path).exists():
            raise Unavailable(f"`{self.path}` is not there; run `make build`")

    def version(self) -> str:
        return ask(self.path, "--version")

    def command(self, job: Job) -> Sequence[str]:
        case = job.case
        if case.workload is Workload.PERSON:
            return self.run(job, job.target.port, 'name = "person"\noperation = "getPerson"')
        if case.workload is Workload.TRADE:
            return self.run(job, job.target.port, f'name = "trade"\nscript = "{job.target.script}"')
        size = ["-c", str(case.connections), "-t", "1", "-d", f"{job.seconds}s", "--format", "json"]
        # Idle cores wait for all tools alike, as `peers/run --idle` says.
        size += ["--idle", "host"]
        if case.rate:
            size += ["-r", str(case.rate)]
        return [self.path, "load", *self._operation(job), *size]

    def run(self, job: Job, port: int, workload: str) -> Sequence[str]:
        """A run of one variant, which is a server that stands already, in one block."""
        case = job.case
        text = _EXPERIMENT.format(
            workload=workload,
            connections=case.connections,
            in_flight=case.in_flight,
            seconds=job.seconds,
            host=HOST,
            port=port,
            protocol={Protocol.GRPC: "grpc", Protocol.HTTP1: "http1-json"}[case.protocol],
        )
        file = job.folder / f"{self.name}.toml"
        file.write_text(text)
        return [self.path, "run", str(file), "--out", str(job.folder / "runs"), "--format", "json", "--quiet"]

    def _operation(self, job: Job) -> list[str]:
        case, target = job.case, job.target
        flight = str(case.in_flight)
        match case.protocol:
            case Protocol.HTTP1:
                return [target.url, "--pipeline", flight]
            case Protocol.HTTPS:
                return [target.url, "-k", "--pipeline", flight]
            case Protocol.HTTP2:
                return [target.url, "--http2", "--streams", flight]
            case Protocol.GRPC:
                proto = str(self.root / PROTOS[case.workload])
                return [target.url, "--proto", proto, "--data", request_json(case), "--streams", flight]
            case Protocol.RESP:
                return [f"redis://{HOST}:{target.port}", "--command", words(case), "--pipeline", flight]
            case Protocol.MEMCACHED:
                return [f"memcached://{HOST}:{target.port}", "--command", words(case), "--pipeline", flight]

    def parse(self, output: Finished, job: Job) -> Outcome:
        try:
            said = json.loads(output.stdout)
        except ValueError:
            raise sought(self.name, "JSON", output.stdout) from None
        if "variants" in said:
            return _of_run(said)
        micro = {
            key: value / 1e3 if value is not None else None for key, value in said["response"].items() if "_ns" in key
        }
        lag = said.get("lag_p99_ns")
        return Outcome(
            requests=said["requests"] - said["errors"],
            errors=said["errors"] + said["not_sent"],
            seconds=said["took_ns"] / 1e9,
            mean_us=micro["mean_ns"],
            p50_us=micro["p50_ns"],
            p99_us=micro["p99_ns"],
            offered=said["load"].get("offered_per_s"),
            lag_p99_us=lag / 1e3 if lag is not None else None,
            remark=None if said["validity"] == "valid" else f"{said['validity']}: {'; '.join(said['reasons'])}",
        )

    def slack(self, case: Case) -> int:
        """It ends when the last reply is there; a request or so may go ahead as a look whether the server answers."""
        return 2


class Pingpong(Weigh):
    """`weigh` too: what it would do if replies of the same size were the simplest that it knows."""

    name = "pingpong"

    def command(self, job: Job) -> Sequence[str]:
        assert job.target.pong_port is not None
        return self.run(job, job.target.pong_port, f'name = "pingpong"\nsize = "{job.case.body_bytes} B"')


def _of_run(said: dict[str, Any]) -> Outcome:
    """Requests of all windows, those before the figures' own too; not those of the warm-up, whose CPU time counts."""
    (variant,) = said["variants"]
    rows = [row for row in variant["figures"] if row["estimate"]]
    # Of several operations each has its own figures, beside those of all.
    whole = [row for row in rows if row["operation"] == "all"]
    figures = {row["quantity"]: row["estimate"]["point"] for row in whole or rows}
    micro = {key: point / 1e3 for key, point in figures.items()}
    windows = [variant, *([variant["other_windows"]] if "other_windows" in variant else [])]
    requests, errors = (sum(each[key] for each in windows) for key in ("requests", "errors"))
    return Outcome(
        requests=requests - errors,
        errors=errors + variant["not_sent"],
        seconds=(requests - errors) / figures["throughput"],
        mean_us=micro["response_mean"],
        p50_us=micro["response_p50"],
        # Withheld where too few requests lie beyond it.
        p99_us=micro.get("response_p99"),
        remark=None if variant["validity"] == "valid" else f"{variant['validity']}: {'; '.join(variant['reasons'])}",
    )


def request_json(case: Case) -> str:
    message = {"id": "1"} if case.workload is Workload.PERSON else {"size": case.body_bytes}
    return json.dumps(message, separators=(",", ":"))


def words(case: Case) -> str:
    """The command as one types it; memcached's are in small letters."""
    if case.protocol is Protocol.MEMCACHED:
        return f"get {KEY}"
    return f"GET {KEY}" if case.command == "GET" else f"SET {KEY} {body(case.body_bytes).decode()}"


class Bare(Tool):
    """The ceiling: epoll, one fixed request, replies counted by their known length. See bare/bare.c."""

    name = "bare"
    recipe = Recipe("bare")

    def __init__(self, root: pathlib.Path) -> None:
        self.source = root / "peers" / "bare" / "bare.c"

    def find(self, installer: Installer) -> None:
        self.path = build(self.source, installer.cache)

    def version(self) -> str:
        return "peers/bare/bare.c"

    def command(self, job: Job) -> Sequence[str]:
        case = job.case
        request = fixed_request(job)
        reply = reply_length(job, request) * case.in_flight
        written = job.folder / "request"
        written.write_bytes(request * case.in_flight)
        numbers = [job.target.port, case.connections, job.seconds, reply, case.in_flight]
        return [self.path, HOST, *map(str, numbers), str(written)]

    def parse(self, output: Finished, job: Job) -> Outcome:
        try:
            said = json.loads(output.stdout)
        except ValueError:
            raise sought(self.name, "JSON", output.stdout) from None
        return Outcome(requests=said["requests"], errors=0, seconds=said["seconds"])

    def slack(self, case: Case) -> int:
        """One request goes ahead, to learn how long the reply is."""
        return super().slack(case) + 1


def fixed_request(job: Job) -> bytes:
    """One request, byte for byte."""
    key, value = KEY.encode(), body(job.case.body_bytes)
    match job.case.protocol, job.case.command:
        case Protocol.HTTP1, _:
            return f"GET {job.target.path} HTTP/1.1\r\nHost: {HOST}:{job.target.port}\r\n\r\n".encode()
        case Protocol.RESP, "GET":
            return b"*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n" % (len(key), key)
        case Protocol.RESP, _:
            return b"*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n" % (len(key), key, len(value), value)
        case Protocol.MEMCACHED, _:
            return b"get %s\r\n" % key
    raise ValueError(f"the bare loop does not speak {job.case.protocol.value}")


def reply_length(job: Job, request: bytes) -> int:
    """Bytes of the reply to it, from asking once. The end is known by what our servers answer."""
    value = body(job.case.body_bytes)
    if job.case.workload is Workload.PERSON:
        value = b"}"
    ends = {Protocol.HTTP1: value, Protocol.RESP: value + b"\r\n", Protocol.MEMCACHED: b"END\r\n"}
    end = b"+OK\r\n" if job.case.command == "SET" else ends[job.case.protocol]
    return len(exchange(job.target.port, request, end))
