"""The server of gRPC for the operations of a workload, with grpcio: connections and their end."""

import asyncio
import ipaddress
import os
import signal
import socket
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

import grpc

if TYPE_CHECKING:
    from main import Configuration

# How long outstanding calls may take after SIGTERM, in seconds; the contract allows 5 in all.
GRACE = 4


class Listener(NamedTuple):
    """A server that has its port, and does not answer yet."""

    server: grpc.aio.Server
    port: int


def listen(host: ipaddress.IPv4Address | ipaddress.IPv6Address, port: int) -> Listener:
    """Open the listener; raises an OSError where that cannot be."""
    # gRPC does not tell why it cannot: ask before.
    family = socket.AF_INET6 if host.version == 6 else socket.AF_INET
    socket.create_server((str(host), port), family=family).close()
    # By default several processes may have the same port.
    server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
    name = f"[{host}]" if host.version == 6 else str(host)
    return Listener(server, server.add_insecure_port(f"{name}:{port}"))


async def serve(listener: Listener, module: ModuleType, configuration: "Configuration", version: str) -> None:
    """Serve until SIGTERM and until nothing is outstanding or grace is over."""
    server, loop, stopped = listener.server, asyncio.get_running_loop(), asyncio.Event()
    module.register(server, configuration, version)
    await server.start()
    # SIGTERM is caught before ready is said: from then on it may come at any time.
    loop.add_signal_handler(signal.SIGTERM, stopped.set)
    print("ready", listener.port, flush=True)
    await stopped.wait()
    # What takes too long is cut off, as over HTTP.
    loop.call_later(GRACE, os._exit, 0)
    await server.stop(GRACE)
