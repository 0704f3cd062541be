"""The server: routes, replies and connections of every workload, with uvicorn."""

import asyncio
import ipaddress
import json
import os
import re
import signal
import socket
from collections.abc import Awaitable, Callable, Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote_to_bytes

import uvicorn

if TYPE_CHECKING:
    from main import Configuration

# How long outstanding requests may take after SIGTERM, in seconds; the contract allows 5 in all.
GRACE = 4

# A time that does not come, in seconds: ten years.
NEVER = 315_360_000

# Replies


class Request(NamedTuple):
    """What a handler is asked; `parameters` are the decoded segments that its pattern has in braces."""

    method: str
    parameters: list[bytes]
    headers: list[tuple[bytes, bytes]]
    body: bytes


class Reply(NamedTuple):
    """A whole reply."""

    status: int
    content_type: str
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()


def problem(status: int, text: str, *headers: tuple[bytes, bytes]) -> Reply:
    """Reply with what was wrong, in JSON."""
    return Reply(status, "application/json", json.dumps({"error": text}).encode(), headers)


def not_found() -> Reply:
    """Answer every path that the contract does not name."""
    return problem(404, "there is nothing at this path")


def method_not_allowed(allow: str) -> Reply:
    """Answer every method but these on a known path."""
    return problem(405, f"allowed here: {allow}", (b"allow", allow.encode()))


# Router


Handler = Callable[[Request], Awaitable[Reply]]


class Route(NamedTuple):
    """The handler of a method, on all paths of a pattern such as `/pong/{n}`; that of GET answers HEAD too."""

    method: str
    pattern: str
    handler: Handler


class Node:
    """What follows one segment of a path."""

    def __init__(self) -> None:
        """Begin without routes."""
        self.segments: dict[bytes, Node] = {}
        self.parameter: Node | None = None
        self.handlers: dict[str, Handler] = {}

    def add(self, route: Route) -> None:
        """Add a route to the tree of which this is the root."""
        node = self
        for segment in route.pattern.encode().split(b"/"):
            if segment.startswith(b"{"):
                node.parameter = node.parameter or Node()
                node = node.parameter
            else:
                node = node.segments.setdefault(segment, Node())
        methods = ["GET", "HEAD"] if route.method == "GET" else [route.method]
        node.handlers.update(dict.fromkeys(methods, route.handler))

    def find(self, path: bytes) -> tuple["Node | None", list[bytes]]:
        """Find the end of a path, by its segments as they were sent, and those that stand for parameters."""
        node, parameters = self, []
        for segment in path.split(b"/"):
            child = node.segments.get(segment)
            if child is None:
                child = node.parameter
                if child is None:
                    return None, parameters
                parameters.append(unquote_to_bytes(segment))
            node = child
        return node, parameters


class Application:
    """The ASGI application."""

    def __init__(self, routes: Iterable[Route], version: str) -> None:
        """Take the routes of the workload; /version is in every one."""

        async def answer_version(_: Request) -> Reply:
            return Reply(200, "text/plain", version.encode())

        self.root = Node()
        for route in [*routes, Route("GET", "/version", answer_version)]:
            self.root.add(route)

    async def __call__(self, scope: dict[str, Any], receive: Callable, send: Callable) -> None:
        """Answer a request."""
        reply = await self.route(scope, receive)
        headers = [
            (b"content-type", reply.content_type.encode()),
            (b"content-length", str(len(reply.body)).encode()),
            *reply.headers,
        ]
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await send({"type": "http.response.body", "body": reply.body})

    async def route(self, scope: dict[str, Any], receive: Callable) -> Reply:
        """Find the handler, by exact paths."""
        method, path = scope["method"], scope["raw_path"]
        if re.search(rb"%(?![0-9A-Fa-f]{2})", path):
            return problem(400, "an escape of the path is broken")
        node, parameters = self.root.find(path)
        if node is None or not node.handlers:
            return not_found()
        handler = node.handlers.get(method)
        if handler is None:
            return method_not_allowed(", ".join(node.handlers))
        body = b"" if method in ("GET", "HEAD") else await body_of(receive)
        return await handler(Request(method, parameters, scope["headers"], body))


async def body_of(receive: Callable) -> bytes:
    """Read the body of a request to its end."""
    pieces = []
    while True:
        message = await receive()
        pieces.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(pieces)


# Connections


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


def listen(host: ipaddress.IPv4Address | ipaddress.IPv6Address, port: int) -> socket.socket:
    """Open the listener; raises an OSError where that cannot be."""
    family = socket.AF_INET6 if host.version == 6 else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    listener.bind((str(host), port))
    listener.listen()
    return listener


async def serve(
    listener: socket.socket, module: ModuleType, configuration: "Configuration", version: str
) -> None:
    """Serve until SIGTERM and until nothing is outstanding or grace is over."""
    # uvicorn sends itself the signal again once it has stopped: the process is to end with 0.
    signal.signal(signal.SIGTERM, lambda *_: None)
    async with module.routes(configuration) as routes:
        settings = uvicorn.Config(
            Application(routes, version),
            http="httptools",
            lifespan="off",
            log_config=None,
            log_level="error",
            access_log=False,
            timeout_keep_alive=NEVER,
        )
        await Server(settings).serve(sockets=[listener])
