"""The workload person over HTTP."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import codec
from person import NO_SUCH_PERSON, Messages, People, person_of
from server import Reply, Request, Route, problem

if TYPE_CHECKING:
    from main import Configuration


@asynccontextmanager
async def routes(configuration: "Configuration") -> AsyncIterator[list[Route]]:
    """Give the paths of the workload."""
    # JSON is written of what Python has.
    handlers = Handlers(People(configuration.people, Messages(dict, dict, dict, dict)))
    yield [
        Route("GET", "/person", handlers.list_persons),
        Route("POST", "/person", handlers.create_person),
        Route("GET", "/person/{id}", handlers.get_person),
        Route("GET", "/person/{id}/links", handlers.get_person_links),
    ]


class Handlers:
    """Those of the paths."""

    def __init__(self, people: People) -> None:
        """Take what they answer."""
        self.people = people

    async def list_persons(self, _: Request) -> Reply:
        """Answer GET /person."""
        return found(self.people.list_persons())

    async def get_person(self, request: Request) -> Reply:
        """Answer GET /person/{id}."""
        person = self.people.get_person(id_of(request))
        return problem(404, NO_SUCH_PERSON) if person is None else found(person)

    async def get_person_links(self, request: Request) -> Reply:
        """Answer GET /person/{id}/links."""
        return found(self.people.get_person_links(id_of(request)))

    async def create_person(self, request: Request) -> Reply:
        """Answer POST /person with the person in its body."""
        media_type = dict(request.headers).get(b"content-type", b"").split(b";", 1)[0]
        if media_type.strip().lower() != codec.MEDIA_TYPE.encode():
            return problem(415, f"the media type must be {codec.MEDIA_TYPE}")
        try:
            return found(person_of(codec.read(request.body)))
        except ValueError as error:
            return problem(400, f"the body is no person: {error}")


def id_of(request: Request) -> str:
    """Read the id that the path names; what is no UTF-8 is nobody's."""
    return request.parameters[0].decode(errors="surrogateescape")


def found(message: Any) -> Reply:
    """Reply with a message."""
    return Reply(200, codec.MEDIA_TYPE, codec.write(message))
