"""The Python service: the workloads pingpong and ping (ping.py) over http1-json, with uvicorn.

It keeps the contract of services/README.md and holds nothing that it does not ask for: no cache of bodies, no log line
per request, no tuning. README.md has why.
"""

import asyncio
import errno
import ipaddress
import json
import os
import platform
import re
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from importlib.metadata import version as version_of
from typing import Any, NamedTuple, NoReturn
from urllib.parse import unquote_to_bytes

import uvicorn
import uvloop

# Sizes of a body that the contract allows, in bytes.
SMALLEST_BODY = 4
LARGEST_BODY = 100_000_000

# How long outstanding requests may take after SIGTERM, in seconds; the contract allows 5 in all.
GRACE = 4

# A time that does not come, in seconds: ten years.
NEVER = 315_360_000

EXIT_CONFIGURATION = 2
EXIT_PORT_IN_USE = 3

# Configuration


class Configuration(NamedTuple):
    """Where to listen, and what to do there."""

    host: ipaddress.IPv4Address | ipaddress.IPv6Address
    port: int
    workload: str
    peer: str


def fail(code: int, message: str) -> NoReturn:
    """End the process with one line on stderr."""
    print(message, file=sys.stderr)
    sys.exit(code)


def refuse(name: str, value: str, allowed: str) -> NoReturn:
    """End the process because of a variable's value."""
    fail(EXIT_CONFIGURATION, f"`{name}` is {json.dumps(value)}, allowed: {allowed}")


def variable(name: str, unset: str = "") -> str:
    """Return the value of a variable; the empty text counts as unset."""
    return os.environ.get(name) or unset


def choice(name: str, unset: str, words: list[str]) -> str:
    """Return the value of a variable that is one of several words."""
    value = variable(name, unset)
    if value not in words:
        refuse(name, value, ", ".join(f"`{word}`" for word in words))
    return value


def is_address(text: str) -> bool:
    """Tell whether a text is an address such as `127.0.0.1:8080` or `[::1]:8080`."""
    match = re.fullmatch(r"(?:\[([^]]+)\]|([^:]+)):([0-9]{1,5})", text)
    if not match or not 1 <= int(match[3]) <= 65535:
        return False
    try:
        ipaddress.IPv6Address(match[1]) if match[1] else ipaddress.IPv4Address(match[2])
    except ValueError:
        return False
    return True


def read_configuration() -> Configuration:
    """Read the environment. The first value that is wrong ends the process."""
    host = variable("HOST", "127.0.0.1")
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        refuse("HOST", host, "an IP address")
    port = variable("PORT", "8080")
    if not re.fullmatch(r"[0-9]{1,5}", port) or int(port) > 65535:
        refuse("PORT", port, "0 to 65535")
    workload = choice("WORKLOAD", "pingpong", ["pingpong", "ping"])
    choice("PROTOCOL", "http1-json", ["http1-json"])
    peer = variable("PEER")
    if workload == "ping" and not is_address(peer):
        refuse("PEER", peer, "an IPv4 address, or an IPv6 one in brackets, `:` and 1 to 65535")
    # uvloop turns Nagle's algorithm off by itself: both words say the same.
    choice("NAGLE", "off", ["off", "default"])
    for name in ["TLS_CERT", "TLS_KEY", "DIRECT"]:
        if value := variable(name):
            refuse(name, value, "nothing (not supported by this service)")
    return Configuration(address, int(port), workload, peer)


# Handlers


class Reply(NamedTuple):
    """A whole reply."""

    status: int
    content_type: str
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()


def problem(status: int, text: str, *headers: tuple[bytes, bytes]) -> Reply:
    """Reply with what was wrong, in JSON."""
    return Reply(status, "application/json", json.dumps({"error": text}).encode(), headers)


async def pong(size: int) -> Reply:
    """Answer GET /pong/{n}. The body is made anew for each request."""
    return Reply(200, "text/plain", b"p" + b"o" * (size - 3) + b"ng")


def version() -> Reply:
    """Answer GET /version."""
    return Reply(200, "text/plain", version_text().encode())


def not_found() -> Reply:
    """Answer every path that the contract does not name."""
    return problem(404, "there is nothing at this path")


def method_not_allowed() -> Reply:
    """Answer every method but GET and HEAD on a known path."""
    return problem(405, "allowed here: GET and HEAD", (b"allow", b"GET, HEAD"))


# Server


class Application:
    """The ASGI application."""

    def __init__(self, sized: dict[bytes, Callable[[int], Awaitable[Reply]]]) -> None:
        """Take the handlers of the paths `/{name}/{n}` by name."""
        self.sized = sized

    async def __call__(self, scope: dict[str, Any], receive: Callable, send: Callable) -> None:
        """Answer a request."""
        reply = await self.route(scope["method"], scope["raw_path"])
        headers = [
            (b"content-type", reply.content_type.encode()),
            (b"content-length", str(len(reply.body)).encode()),
            *reply.headers,
        ]
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await send({"type": "http.response.body", "body": reply.body})

    async def route(self, method: str, path: bytes) -> Reply:
        """Find the handler, by exact paths."""
        if re.search(rb"%(?![0-9A-Fa-f]{2})", path):
            return problem(400, "an escape of the path is broken")
        match path.split(b"/"):
            case [b"", b"version"]:
                return version() if method in ("GET", "HEAD") else method_not_allowed()
            case [b"", name, text] if handler := self.sized.get(name):
                if method not in ("GET", "HEAD"):
                    return method_not_allowed()
                size = number(unquote_to_bytes(text))
                if size is None or not SMALLEST_BODY <= size <= LARGEST_BODY:
                    allowed = f"{SMALLEST_BODY} to {LARGEST_BODY}"
                    return problem(400, f"the size must be a whole number from {allowed}")
                return await handler(size)
        return not_found()


def number(text: bytes) -> int | None:
    """Read a whole number as the contract writes it: digits only, no leading zero."""
    return int(text) if re.fullmatch(rb"0|[1-9][0-9]{0,99}", text) else None


class Server(uvicorn.Server):
    """uvicorn, but for what it says and how it stops."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Say where it listens; SIGTERM is caught by now."""
        await super().startup(sockets)
        self.loop = asyncio.get_running_loop()
        print("ready", sockets[0].getsockname()[1], flush=True)

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Close the listener at once, not only at the next look every 0.1 s, and cut off what takes too long."""
        super().handle_exit(sig, frame)
        self.loop.call_soon_threadsafe(self.close)

    def close(self) -> None:
        """Take nothing new."""
        for server in self.servers:
            server.close()
        self.loop.call_later(GRACE, os._exit, 0)


def listen(configuration: Configuration) -> socket.socket:
    """Open the listener."""
    host, port = str(configuration.host), configuration.port
    family = socket.AF_INET6 if configuration.host.version == 6 else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    try:
        listener.bind((host, port))
        listener.listen()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            fail(EXIT_PORT_IN_USE, f"`PORT` {port} on `HOST` {host} is in use, choose another")
        fail(EXIT_CONFIGURATION, f"`PORT` {port} on `HOST` {host} cannot be used: {error.strerror}")
    return listener


async def serve(configuration: Configuration, listener: socket.socket) -> None:
    """Serve until SIGTERM and until nothing is outstanding or grace is over."""
    if configuration.workload == "ping":
        from ping import Relay

        relay = Relay(configuration.peer, Reply, problem)
        application = Application({b"ping": relay.ping, b"mping": relay.mping})
    else:
        application = Application({b"pong": pong})
    settings = uvicorn.Config(
        application,
        http="httptools",
        lifespan="off",
        log_config=None,
        log_level="error",
        access_log=False,
        timeout_keep_alive=NEVER,
    )
    await Server(settings).serve(sockets=[listener])
    if configuration.workload == "ping":
        await relay.close()


# Main


def version_text() -> str:
    """Return what --version and /version answer."""
    libraries = [f"{name} {version_of(name)}" for name in ("uvicorn", "httptools", "uvloop", "aiohttp")]
    return " ".join(["Python", platform.python_version(), *libraries])


def main() -> None:
    """Do what the arguments say."""
    match sys.argv[1:]:
        case []:
            configuration = read_configuration()
            # uvicorn sends itself the signal again once it has stopped: the process is to end with 0.
            signal.signal(signal.SIGTERM, lambda *_: None)
            uvloop.run(serve(configuration, listen(configuration)))
        case ["--version"]:
            print(version_text())
        case [argument, *_]:
            fail(EXIT_CONFIGURATION, f"argument {json.dumps(argument)}, allowed: `--version` alone")


if __name__ == "__main__":
    main()
