"""Who takes part in a soak: sixteen servers that misbehave, each with a load of its own, and a run of two variants."""

from __future__ import annotations

import dataclasses

BLOCKS = 2000


@dataclasses.dataclass(frozen=True)
class Hostile:
    """One server that misbehaves, and the load on it: open, so that `weigh load` goes on whatever fails."""

    name: str
    scheme: str = "http"
    rate: int = 100
    connections: int = 64
    timeout: str = "1s"
    words: tuple[str, ...] = ()

    def load(self, weigh: str, port: int, seconds: int) -> list[str]:
        words = [weigh, "load", "--quiet", "--wait", "asleep", "--idle", "host", "--timeout", self.timeout]
        words += ["-c", str(self.connections), "-r", str(self.rate), "-d", f"{seconds}s", *self.words]
        return [*words, f"{self.scheme}://127.0.0.1:{port}" + ("/" if self.scheme.startswith("http") else "")]


_H2 = ("--http2",)
_TLS = ("--insecure",)
_GET = ("--command", "get k")

# What never ends fills a core until time is out, so of that little is asked, and for a short time.
SERVERS = (
    Hostile("close-mid-body"),
    Hostile("reset-mid-body"),
    Hostile("stall-mid-body", rate=40),
    Hostile("drip-body", rate=40),
    Hostile("garbage"),
    Hostile("endless-chunks", rate=1, connections=4, timeout="100ms"),
    Hostile("many-fields"),
    Hostile("close-each"),
    Hostile("h2-reset-streams", words=_H2),
    Hostile("h2-goaway-each", words=_H2),
    Hostile("h2-ping-flood", rate=10, connections=16, words=_H2),
    Hostile("h2-hpack-bomb", rate=50, words=_H2),
    Hostile("tls-forged-record", "https", rate=50, words=_TLS),
    Hostile("tls-close-each", "https", rate=50, words=_TLS),
    Hostile("memcached-close-mid-value", "memcached", words=_GET),
    Hostile("memcached-endless-value", "memcached", rate=1, connections=4, timeout="100ms", words=_GET),
)


def experiment(weigh: str, blocks: int, seconds: int) -> str:
    """Two variants that are one program, `blocks` blocks within `seconds`, windows as short as they may be."""
    variants = "".join(
        f'\n[[variant]]\nname = "{name}"\ncommand = ["{weigh}", "--quiet", "probe", "null", "--port", "{{port}}"]\n'
        for name in ("one", "other")
    )
    return f"""title = "soak"
[workload]
name = "pingpong"
size = "64 B"
[load]
model = "closed"
connections = 1
warmup = "1 ms"
[plan]
blocks = {blocks}
budget = "{seconds} s"
window = "1 ms"
idle = "host"
{variants}"""


__all__ = ["BLOCKS", "SERVERS", "Hostile", "experiment"]
