"""The workload person-client: calls a peer over any protocol of the workload person, and tells how long that took."""

import json
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import codec
from person import Record, person_of
from person_http import id_of
from server import Reply, Request, Route, problem

if TYPE_CHECKING:
    from main import Configuration

# The fields of a reply as texts, in the order of the model; an absent picture is one that is empty.
Fields = list[str]

NOT_FOUND: Fields = ["not found"]


class Calls(Protocol):
    """How a peer is called over a protocol: each gives the fields of its reply, and raises where there is none."""

    # What is raised where a reply does not come, cannot be read, or lacks a field.
    failures: tuple[type[Exception], ...]

    async def list_persons(self) -> Fields:
        """Ask for all persons."""

    async def get_person(self, name: str) -> Fields:
        """Ask for the person with that id."""

    async def get_person_links(self, name: str) -> Fields:
        """Ask for the links with that id on either side."""

    def message(self, person: Record) -> Any:
        """Make the message of a person that is to be sent."""

    async def create_person(self, message: Any) -> Fields:
        """Send a person."""


@asynccontextmanager
async def routes(configuration: "Configuration") -> AsyncIterator[list[Route]]:
    """Give the paths of the workload, with one client for all."""
    over: AbstractAsyncContextManager[Calls] = import_module(configuration.client).over(configuration.peer)
    async with over as calls:
        handlers = Handlers(calls)
        yield [
            Route("GET", "/call/listPersons", handlers.list_persons),
            Route("GET", "/call/getPerson/{id}", handlers.get_person),
            Route("GET", "/call/getPersonLinks/{id}", handlers.get_person_links),
            Route("POST", "/call/createPerson", handlers.create_person),
        ]


class Handlers:
    """Those of the paths."""

    def __init__(self, calls: Calls) -> None:
        """Take what calls the peer."""
        self.calls = calls

    async def list_persons(self, _: Request) -> Reply:
        """Answer GET /call/listPersons."""
        return await self.timed(self.calls.list_persons())

    async def get_person(self, request: Request) -> Reply:
        """Answer GET /call/getPerson/{id}."""
        return await self.timed(self.calls.get_person(id_of(request)))

    async def get_person_links(self, request: Request) -> Reply:
        """Answer GET /call/getPersonLinks/{id}."""
        return await self.timed(self.calls.get_person_links(id_of(request)))

    async def create_person(self, request: Request) -> Reply:
        """Answer POST /call/createPerson: its body is decoded before the time begins."""
        try:
            person = person_of(codec.read(request.body))
            # Not every text can be written.
            codec.write(person)
            message = self.calls.message(person)
        except ValueError as error:
            return problem(400, f"the body is no person: {error}")
        return await self.timed(self.calls.create_person(message))

    async def timed(self, call: Awaitable[Fields]) -> Reply:
        """Make a call, read every field of its reply, and tell how long both took."""
        try:
            begin = time.monotonic_ns()
            fields = "\n".join([*await call, ""]).encode()
            duration = time.monotonic_ns() - begin
        except self.calls.failures as error:
            return problem(502, f"the peer gave no reply of this operation: {type(error).__name__} {error}")
        told = {"duration_ns": duration, "calls": 1, "digest": digest(fields)}
        return Reply(200, "application/json", json.dumps(told).encode())


def digest(fields: bytes) -> str:
    """Compute FNV-1a, 64 bits. Of a list it takes Python as long as the call, so it is not in its time."""
    state = 0xCBF29CE484222325
    for byte in fields:
        state = (state ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{state:016x}"
