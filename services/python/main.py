"""The Python service, with uvicorn and grpcio: configuration and life.

server.py and server_grpc.py have the servers; each workload has its handlers in modules of its own, and its lines in the
table below.
It keeps the contract of services/README.md and holds nothing that it does not ask for: no cache of bodies, no log line
per request, no tuning. README.md has why.
"""

import errno
import ipaddress
import json
import os
import platform
import re
import sys
from importlib import import_module
from importlib.metadata import version as version_of
from typing import NamedTuple, NoReturn

import uvloop

from person import PeopleFile, read_people

EXIT_CONFIGURATION = 2
EXIT_PORT_IN_USE = 3


class Offer(NamedTuple):
    """A workload over a protocol."""

    workload: str
    protocol: str
    # The module that answers, and the one that serves it; loaded only where they are asked for.
    module: str
    server: str = "server"
    # Whether it asks `PEER`.
    relays: bool = False
    # Whether it asks `DATA`.
    reads: bool = False
    # Whether it calls `PEER` over `PEER_PROTOCOL`.
    calls: bool = False


# All of them, the defaults first.
OFFERS = [
    Offer("pingpong", "http1-json", "pong"),
    Offer("ping", "http1-json", "ping", relays=True),
    Offer("person", "http1-json", "person_http", reads=True),
    Offer("person", "grpc", "person_grpc", "server_grpc", reads=True),
    Offer("person-client", "http1-json", "person_client", relays=True, calls=True),
]

# The protocols over which `PEER` is called, the default first, and the module of each.
CLIENTS = {"http1-json": "person_client_http", "grpc": "person_client_grpc"}

# Configuration


class Configuration(NamedTuple):
    """Where to listen, and what to do there."""

    host: ipaddress.IPv4Address | ipaddress.IPv6Address
    port: int
    offer: Offer
    peer: str
    # The module that calls it.
    client: str
    people: PeopleFile | None


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
    client = CLIENTS[choice("PEER_PROTOCOL", *CLIENTS)] if offer.calls else ""
    # uvloop and gRPC turn Nagle's algorithm off by themselves: both words say the same.
    choice("NAGLE", "off", "default")
    for name in ["TLS_CERT", "TLS_KEY", "DIRECT"]:
        if value := variable(name):
            refuse(name, value, "nothing (not supported by this service)")
    people = read_data() if offer.reads else None
    return Configuration(address, int(port), offer, peer, client, people)


def read_data() -> PeopleFile:
    """Read the people file in the folder that `DATA` names."""
    folder = variable("DATA")
    allowed = "a folder with a people file, `people.json`"
    if not folder:
        refuse("DATA", folder, allowed)
    try:
        return read_people(folder)
    except (OSError, ValueError) as error:
        refuse("DATA", folder, f"{allowed} ({error})")


# Main


async def run(configuration: Configuration) -> None:
    """Listen, say so, serve."""
    place = f"`PORT` {configuration.port} on `HOST` {configuration.host}"
    server = import_module(configuration.offer.server)
    try:
        listener = server.listen(configuration.host, configuration.port)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            fail(EXIT_PORT_IN_USE, f"{place} is in use, choose another")
        fail(EXIT_CONFIGURATION, f"{place} cannot be used: {error.strerror}")
    await server.serve(listener, import_module(configuration.offer.module), configuration, version_text())


def version_text() -> str:
    """Return what --version and /version answer."""
    libraries = [
        f"{name} {version_of(name)}" for name in ("uvicorn", "httptools", "uvloop", "aiohttp", "grpcio")
    ]
    return " ".join(["Python", platform.python_version(), *libraries])


def main() -> None:
    """Do what the arguments say."""
    match sys.argv[1:]:
        case []:
            uvloop.run(run(read_configuration()))
        case ["--version"]:
            print(version_text())
        case [argument, *_]:
            fail(EXIT_CONFIGURATION, f"argument {json.dumps(argument)}, allowed: `--version` alone")


if __name__ == "__main__":
    main()
