"""The Python service, with uvicorn: configuration and life.

server.py has the server; each workload has its handlers in a module of its own, and its line in the table below.
It keeps the contract of services/README.md and holds nothing that it does not ask for: no cache of bodies, no log line
per request, no tuning. README.md has why.
"""

import errno
import ipaddress
import json
import os
import platform
import re
import signal
import sys
from importlib import import_module
from importlib.metadata import version as version_of
from typing import NamedTuple, NoReturn

import uvloop

import server

EXIT_CONFIGURATION = 2
EXIT_PORT_IN_USE = 3


class Offer(NamedTuple):
    """A workload over a protocol."""

    workload: str
    protocol: str
    # The module whose `routes` answer; loaded only where it is asked for.
    module: str
    # Whether it asks `PEER`.
    relays: bool = False


# All of them, the defaults first.
OFFERS = [
    Offer("pingpong", "http1-json", "pong"),
    Offer("ping", "http1-json", "ping", relays=True),
]

# Configuration


class Configuration(NamedTuple):
    """Where to listen, and what to do there."""

    host: ipaddress.IPv4Address | ipaddress.IPv6Address
    port: int
    offer: Offer
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


def choice(name: str, *words: str) -> str:
    """Return the value of a variable that is one of several words, by default the first."""
    value = variable(name, words[0])
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


def read_offer() -> Offer:
    """Read which workload is asked for, and over which protocol."""
    workload = choice("WORKLOAD", *dict.fromkeys(offer.workload for offer in OFFERS))
    offers = {offer.protocol: offer for offer in OFFERS if offer.workload == workload}
    return offers[choice("PROTOCOL", *offers)]


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
    offer = read_offer()
    peer = variable("PEER")
    if offer.relays and not is_address(peer):
        refuse("PEER", peer, "an IPv4 address, or an IPv6 one in brackets, `:` and 1 to 65535")
    # uvloop turns Nagle's algorithm off by itself: both words say the same.
    choice("NAGLE", "off", "default")
    for name in ["TLS_CERT", "TLS_KEY", "DIRECT"]:
        if value := variable(name):
            refuse(name, value, "nothing (not supported by this service)")
    return Configuration(address, int(port), offer, peer)


# Main


async def run(configuration: Configuration) -> None:
    """Listen, say so, serve."""
    place = f"`PORT` {configuration.port} on `HOST` {configuration.host}"
    try:
        listener = server.listen(configuration.host, configuration.port)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            fail(EXIT_PORT_IN_USE, f"{place} is in use, choose another")
        fail(EXIT_CONFIGURATION, f"{place} cannot be used: {error.strerror}")
    async with import_module(configuration.offer.module).routes(configuration.peer) as routes:
        await server.serve(server.Application(routes, version_text()), listener)


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
            uvloop.run(run(configuration))
        case ["--version"]:
            print(version_text())
        case [argument, *_]:
            fail(EXIT_CONFIGURATION, f"argument {json.dumps(argument)}, allowed: `--version` alone")


if __name__ == "__main__":
    main()
