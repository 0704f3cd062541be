"""The calls of the workload person-client over gRPC, with the generated stub."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc

import person_pb2 as pb
from person import Record
from person_client import NOT_FOUND, Fields
from person_grpc import person_message
from person_pb2_grpc import PeopleStub

# README.md has why.
OPTIONS = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_http_proxy", 0)]


@asynccontextmanager
async def over(peer: str) -> AsyncIterator["GrpcCalls"]:
    """Give the calls."""
    calls = GrpcCalls(peer)
    yield calls
    await calls.channel.close()


class GrpcCalls:
    """The calls, over one channel."""

    failures = (grpc.aio.AioRpcError, ValueError)

    def __init__(self, peer: str) -> None:
        """Take the peer's address."""
        self.peer = peer
        self.open()

    def open(self) -> None:
        """Make the channel; it connects when it is first used."""
        self.channel = grpc.aio.insecure_channel(self.peer, options=OPTIONS)
        self.stub = PeopleStub(self.channel)

    async def list_persons(self) -> Fields:
        """Ask for all persons."""
        reply = await self.call("ListPersons", pb.ListPersonsRequest())
        return NOT_FOUND if reply is None else list_fields(reply)

    async def get_person(self, name: str) -> Fields:
        """Ask for the person with that id."""
        reply = await self.call("GetPerson", pb.PersonId(id=name))
        return NOT_FOUND if reply is None else person_fields(reply)

    async def get_person_links(self, name: str) -> Fields:
        """Ask for the links with that id on either side."""
        reply = await self.call("GetPersonLinks", pb.PersonId(id=name))
        return NOT_FOUND if reply is None else link_list_fields(reply)

    def message(self, person: Record) -> pb.Person:
        """Make the message of a person that is to be sent."""
        return person_message(person)

    async def create_person(self, message: pb.Person) -> Fields:
        """Send a person."""
        reply = await self.call("CreatePerson", message)
        return NOT_FOUND if reply is None else person_fields(reply)

    async def call(self, operation: str, request: Any) -> Any:
        """Give the reply; None where it is *not found*."""
        stub = self.stub
        try:
            return await getattr(stub, operation)(request)
        except grpc.aio.AioRpcError as error:
            if error.code() == grpc.StatusCode.NOT_FOUND:
                return None
            # A channel whose peer was not there fails calls at once for a second and more: the next is made anew.
            if error.code() == grpc.StatusCode.UNAVAILABLE and stub is self.stub:
                self.open()
            raise


# Fields


def person_fields(person: pb.Person) -> Fields:
    """Read those of a person."""
    name, location = person.name, person.location
    picture = person.picture if person.HasField("picture") else None
    return [
        person.id,
        name.title,
        name.first,
        name.last,
        person.gender,
        location.street,
        location.city,
        location.state,
        str(location.post_code),
        person.email,
        *([""] if picture is None else [picture.large, picture.medium, picture.thumbnail]),
    ]


def list_fields(reply: pb.PersonList) -> Fields:
    """Read those of a list of persons."""
    return [*(field for person in reply.persons for field in person_fields(person)), str(reply.count)]


def link_list_fields(reply: pb.PersonLinkList) -> Fields:
    """Read those of a list of links."""
    persons = (person for link in reply.links for person in (link.p1, link.p2))
    return [*(field for person in persons for field in person_fields(person)), str(reply.count)]
