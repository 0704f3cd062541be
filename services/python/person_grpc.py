"""The workload person over gRPC: the operations of person.proto.

person_pb2.py and person_pb2_grpc.py are made of it; pyproject.toml has the command.
"""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import grpc
from google.protobuf.json_format import ParseDict
from grpc_reflection.v1alpha import reflection

import person_pb2 as pb
from person import NO_SUCH_PERSON, Messages, People, Record
from person_pb2_grpc import PeopleServicer, add_PeopleServicer_to_server

if TYPE_CHECKING:
    from main import Configuration


def register(server: grpc.aio.Server, configuration: "Configuration", version: str) -> None:
    """Offer the operations of the workload, and tell clients of them."""
    messages = Messages(person_message, pb.PersonLink, pb.PersonList, pb.PersonLinkList)
    people = People(configuration.people, messages)
    add_PeopleServicer_to_server(Operations(people, version), server)
    names = [service.full_name for service in pb.DESCRIPTOR.services_by_name.values()]
    reflection.enable_server_reflection([*names, reflection.SERVICE_NAME], server)


def person_message(person: Record) -> pb.Person:
    """Make the message of a person; the model's names are those of the interface in JSON."""
    return ParseDict(person, pb.Person())


class Operations(PeopleServicer):
    """The operations of the interface."""

    def __init__(self, people: People, version: str) -> None:
        """Take what they answer."""
        self.people = people
        self.version = version

    async def ListPersons(
        self, request: pb.ListPersonsRequest, context: grpc.aio.ServicerContext
    ) -> pb.PersonList:
        """Answer all persons."""
        return self.people.list_persons()

    async def GetPerson(self, request: pb.PersonId, context: grpc.aio.ServicerContext) -> pb.Person:
        """Answer the person with that id."""
        person = self.people.get_person(request.id)
        if person is None:
            await context.abort(grpc.StatusCode.NOT_FOUND, NO_SUCH_PERSON)
        return person

    async def GetPersonLinks(
        self, request: pb.PersonId, context: grpc.aio.ServicerContext
    ) -> pb.PersonLinkList:
        """Answer the links with that id on either side."""
        return self.people.get_person_links(request.id)

    async def CreatePerson(self, request: pb.Person, context: grpc.aio.ServicerContext) -> pb.Person:
        """Answer the person that was sent."""
        return request

    async def StreamPersons(
        self, request: pb.ListPersonsRequest, context: grpc.aio.ServicerContext
    ) -> AsyncIterator[pb.Person]:
        """Answer all persons, one message each."""
        for person in self.people.persons:
            yield person

    async def Version(self, request: pb.VersionRequest, context: grpc.aio.ServicerContext) -> pb.VersionReply:
        """Answer the text of GET /version."""
        return pb.VersionReply(text=self.version)
