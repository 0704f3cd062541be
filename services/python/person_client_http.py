"""The calls of the workload person-client over HTTP, with aiohttp."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import aiohttp

import codec
from person import Record
from person_client import NOT_FOUND, Fields
from ping import new_session


@asynccontextmanager
async def over(peer: str) -> AsyncIterator["HttpCalls"]:
    """Give the calls, with one pool of connections."""
    async with new_session() as session:
        yield HttpCalls(session, f"http://{peer}/person")


class HttpCalls:
    """The calls."""

    failures = (aiohttp.ClientError, TimeoutError, ValueError, LookupError, TypeError)

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        """Take the client and where the persons are."""
        self.session = session
        self.url = url

    async def list_persons(self) -> Fields:
        """Ask for all persons."""
        return await self.ask(list_fields, "GET", self.url)

    async def get_person(self, name: str) -> Fields:
        """Ask for the person with that id."""
        return await self.ask(person_fields, "GET", f"{self.url}/{quoted(name)}")

    async def get_person_links(self, name: str) -> Fields:
        """Ask for the links with that id on either side."""
        return await self.ask(link_list_fields, "GET", f"{self.url}/{quoted(name)}/links")

    def message(self, person: Record) -> Record:
        """Make the message of a person that is to be sent."""
        return person

    async def create_person(self, message: Record) -> Fields:
        """Send a person."""
        headers = {"Content-Type": codec.MEDIA_TYPE}
        return await self.ask(person_fields, "POST", self.url, data=codec.write(message), headers=headers)

    async def ask(self, fields: Callable[[Any], Fields], method: str, url: str, **more: Any) -> Fields:
        """Ask, and read the reply to its end."""
        async with self.session.request(method, url, allow_redirects=False, **more) as response:
            body = await response.read()
        match response.status:
            case 200:
                return fields(codec.read(body))
            case 404:
                return NOT_FOUND
            case status:
                raise ValueError(f"its status is {status}")


def quoted(name: str) -> str:
    """Write an id as a segment of a path."""
    return quote(name, safe="", errors="surrogateescape")


# Fields


def person_fields(person: Record) -> Fields:
    """Read those of a person."""
    name, location, picture = person["name"], person["location"], person["picture"]
    return [
        person["id"],
        name["title"],
        name["first"],
        name["last"],
        person["gender"],
        location["street"],
        location["city"],
        location["state"],
        str(location["postCode"]),
        person["email"],
        *([""] if picture is None else [picture["large"], picture["medium"], picture["thumbnail"]]),
    ]


def list_fields(reply: Record) -> Fields:
    """Read those of a list of persons."""
    return [*(field for person in reply["persons"] for field in person_fields(person)), str(reply["count"])]


def link_list_fields(reply: Record) -> Fields:
    """Read those of a list of links."""
    persons = (person for link in reply["links"] for person in (link["p1"], link["p2"]))
    return [*(field for person in persons for field in person_fields(person)), str(reply["count"])]
