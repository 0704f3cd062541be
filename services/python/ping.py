"""The workload ping: asks the peer for what it is asked for, with aiohttp."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

import aiohttp

from pong import size_of, wrong_size
from server import NEVER, Reply, Request, Route, problem

if TYPE_CHECKING:
    from main import Configuration

# How often a request is repeated whose connection ended before a byte of the reply came.
REPETITIONS = 3


@asynccontextmanager
async def routes(configuration: "Configuration") -> AsyncIterator[list[Route]]:
    """Give the paths of the workload, with one client for all."""
    relay = Relay(configuration.peer)
    yield [Route("GET", "/ping/{n}", relay.ping), Route("GET", "/mping/{n}", relay.mping)]
    await relay.session.close()


def new_session() -> aiohttp.ClientSession:
    """Make the client of every workload that asks over HTTP."""
    return aiohttp.ClientSession(
        # By default at most 100 connections, and those that were idle for 15 s are closed.
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=NEVER),
        # By default compression is accepted.
        skip_auto_headers=["Accept-Encoding"],
    )


class Answer(NamedTuple):
    """What the peer replied, and how often it was asked again."""

    status: int
    body: bytes
    retries: int


class Relay:
    """Passes requests on to the peer through one pool of connections."""

    def __init__(self, peer: str) -> None:
        """Take the peer's address."""
        self.url = f"http://{peer}/pong/"
        self.session = new_session()

    # Handlers

    async def ping(self, request: Request) -> Reply:
        """Answer GET /ping/{n}: pass the peer's body on."""
        size = size_of(request)
        if size is None:
            return wrong_size()
        try:
            answer = await self.ask(size)
        except (aiohttp.ClientError, TimeoutError) as error:
            return self.no_reply(error)
        if answer.status != 200:
            return problem(502, f"the peer replied with status {answer.status}")
        return Reply(200, "text/plain", answer.body)

    async def mping(self, request: Request) -> Reply:
        """Answer GET /mping/{n}: tell how long the peer took."""
        size = size_of(request)
        if size is None:
            return wrong_size()
        try:
            begin = time.monotonic_ns()
            answer = await self.ask(size)
            duration = time.monotonic_ns() - begin
        except (aiohttp.ClientError, TimeoutError) as error:
            return self.no_reply(error)
        told = {
            "duration_ns": duration,
            "length": len(answer.body),
            "code": answer.status,
            "retries": answer.retries,
        }
        return Reply(200, "application/json", json.dumps(told).encode())

    def no_reply(self, error: Exception) -> Reply:
        """Reply that the peer did not."""
        return problem(502, f"the peer did not reply: {type(error).__name__} {error}")

    # Client

    async def ask(self, size: int) -> Answer:
        """Ask for GET /pong/{n}, again where that is allowed. Raises where no whole reply came."""
        retries = 0
        while True:
            try:
                response = await self.session.get(f"{self.url}{size}", allow_redirects=False)
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
                if not unanswered(error) or retries == REPETITIONS:
                    raise
                retries += 1
                continue
            async with response:
                return Answer(response.status, await response.read(), retries)


def unanswered(error: aiohttp.ClientError) -> bool:
    """Tell whether a connection was there and ended before a byte of the reply came."""
    if isinstance(error, aiohttp.ServerDisconnectedError):
        # A head that had begun is the message; without one it is a text.
        return isinstance(error.message, str)
    return not isinstance(error, aiohttp.ClientConnectorError)
