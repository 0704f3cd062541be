"""What is compared: every case, its server, its load, the tools that take part, and the goals set for `weigh`.

Pure data. A case is added by one entry here; no other module knows a case by name.
"""

from __future__ import annotations

import dataclasses
import enum


class Protocol(enum.Enum):
    """How requests travel."""

    HTTP1 = "HTTP/1.1"
    HTTPS = "HTTP/1.1 over TLS 1.3"
    HTTP2 = "HTTP/2 cleartext"
    GRPC = "gRPC unary"
    RESP = "RESP"
    MEMCACHED = "memcached text"


class Workload(enum.Enum):
    """What is asked of our own services; the other servers answer a body of the size alone."""

    PINGPONG = "pingpong"
    PERSON = "person"
    TRADE = "trade"


class Figure(enum.Enum):
    """What ratios are taken of."""

    PER_CPU = "per_cpu"
    RATE = "rate"
    P50 = "p50_us"
    P99 = "p99_us"

    @property
    def more_is_better(self) -> bool:
        return self in (Figure.PER_CPU, Figure.RATE)


@dataclasses.dataclass(frozen=True)
class Goal:
    """A bound on the median of the ratios of `weigh` to a peer: at least it, or at most it for latencies."""

    peer: str
    figure: Figure
    bound: float

    def met(self, ratio: float) -> bool:
        return ratio >= self.bound if self.figure.more_is_better else ratio <= self.bound


@dataclasses.dataclass(frozen=True)
class OwnGoal:
    """A bound on a figure of `weigh` itself, median of the rounds. `figure` is `achieved` (of due) or `lag_p99_us`."""

    figure: str
    bound: float

    def met(self, median: float) -> bool:
        return median <= self.bound if self.figure == "lag_p99_us" else median >= self.bound


@dataclasses.dataclass(frozen=True)
class Case:
    """One comparison on one server.

    `in_flight` is requests outstanding on a connection: pipelined, or HTTP/2 streams. `rate` in requests per second
    makes the load open; without it, it is closed. `peers` take turns with `weigh`, in this order in tables.
    """

    name: str
    protocol: Protocol
    server: str
    peers: tuple[str, ...]
    connections: int
    in_flight: int = 1
    body_bytes: int = 64
    command: str = "GET"
    workload: Workload = Workload.PINGPONG
    rate: int | None = None
    goals: tuple[Goal, ...] = ()
    own_goals: tuple[OwnGoal, ...] = ()

    @property
    def title(self) -> str:
        body = {65536: "64 KiB", 1048576: "1 MiB"}.get(self.body_bytes, f"{self.body_bytes} B")
        if self.workload is Workload.PERSON:
            body = f"getPerson of {body}"
        elif self.workload is Workload.TRADE:
            body = "sessions of a brokerage"
        command = f" {self.command}" if self.protocol in (Protocol.RESP, Protocol.MEMCACHED) else ""
        each = f" × {self.in_flight}" if self.in_flight > 1 else ""
        load = f", open at {self.rate:,}/s" if self.rate else ""
        plural = "s" if self.connections > 1 else ""
        return f"{self.protocol.value}{command}, {body}, {self.connections} connection{plural}{each}{load}"


def _like(peer: str, per_cpu: float, rate: float | None = None, latency: float | None = None) -> tuple[Goal, ...]:
    """The usual goals against one peer."""
    goals = [Goal(peer, Figure.PER_CPU, per_cpu)]
    if rate is not None:
        goals.append(Goal(peer, Figure.RATE, rate))
    if latency is not None:
        goals += [Goal(peer, Figure.P50, latency), Goal(peer, Figure.P99, latency)]
    return tuple(goals)


_OPEN = (OwnGoal("achieved", 0.999), OwnGoal("lag_p99_us", 100.0))
_SMALL = _like("wrk", 1.2, 1.0, 1.05) + _like("oha", 1.9) + _like("bare", 0.9)
_RESP_PEERS = ("redis-benchmark", "memtier", "bare")
_RESP_GOALS = _like("redis-benchmark", 1.2)

CASES: tuple[Case, ...] = (
    Case(
        "http1-16", Protocol.HTTP1, "nginx", ("wrk", "oha", "h2load", "hey", "fortio", "k6", "bare"), 16, goals=_SMALL
    ),
    Case("http1-256", Protocol.HTTP1, "nginx", ("wrk", "oha", "h2load", "hey", "bare"), 256, goals=_SMALL),
    Case("http1-16-null", Protocol.HTTP1, "probe", ("wrk", "oha", "bare"), 16),
    Case("http1-64k", Protocol.HTTP1, "nginx", ("wrk", "oha", "bare"), 16, body_bytes=65536, goals=_like("wrk", 1.0)),
    Case("http1-1m", Protocol.HTTP1, "nginx", ("wrk", "oha", "bare"), 16, body_bytes=1048576, goals=_like("wrk", 1.0)),
    Case("http1-tls", Protocol.HTTPS, "nginx-tls", ("wrk", "oha", "hey"), 16, goals=_like("wrk", 1.0)),
    Case("h2-1x32", Protocol.HTTP2, "nghttpd", ("h2load",), 1, in_flight=32, goals=_like("h2load", 1.0)),
    Case("h2-1x32-nginx", Protocol.HTTP2, "nginx-h2", ("h2load",), 1, in_flight=32),
    Case(
        "grpc-1x32",
        Protocol.GRPC,
        "rust-grpc",
        ("ghz", "h2load"),
        1,
        in_flight=32,
        goals=_like("ghz", 5.0) + _like("h2load", 0.7),
    ),
    Case("grpc-16x1", Protocol.GRPC, "rust-grpc", ("ghz", "h2load"), 16, goals=_like("ghz", 5.0)),
    Case(
        "person-grpc-1x32",
        Protocol.GRPC,
        "rust-person",
        ("ghz", "pingpong"),
        1,
        in_flight=32,
        body_bytes=121,
        workload=Workload.PERSON,
        goals=_like("ghz", 5.0) + _like("pingpong", 0.95),
    ),
    Case(
        "person-http1-16",
        Protocol.HTTP1,
        "rust-person",
        ("wrk", "oha", "bare"),
        16,
        body_bytes=246,
        workload=Workload.PERSON,
        goals=_like("wrk", 1.0),
    ),
    Case(
        "trade-http1-16",
        Protocol.HTTP1,
        "rust-trade",
        ("locust", "jmeter"),
        16,
        workload=Workload.TRADE,
        goals=_like("locust", 4.0) + _like("jmeter", 4.0),
    ),
    Case("resp-50x1", Protocol.RESP, "redis", _RESP_PEERS, 50, goals=_RESP_GOALS),
    Case("resp-set-50x1", Protocol.RESP, "redis", _RESP_PEERS, 50, command="SET", goals=_RESP_GOALS),
    Case("resp-50x16", Protocol.RESP, "redis", _RESP_PEERS, 50, in_flight=16, goals=_RESP_GOALS),
    Case(
        "memcached-16x1",
        Protocol.MEMCACHED,
        "memcached",
        ("memtier", "mutilate", "bare"),
        16,
        goals=_like("memtier", 1.1),
    ),
    Case("open-1k", Protocol.HTTP1, "nginx", ("wrk2", "vegeta"), 16, rate=1_000, own_goals=_OPEN),
    Case("open-10k", Protocol.HTTP1, "nginx", ("wrk2", "vegeta"), 16, rate=10_000, own_goals=_OPEN),
    Case("open-40k", Protocol.HTTP1, "nginx", ("wrk2", "vegeta"), 16, rate=40_000, own_goals=_OPEN),
)
