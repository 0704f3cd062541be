"""The workload person: its model, the people file and the operations, whatever carries them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import codec

# Why a person is not found.
NO_SUCH_PERSON = "no person has this id"

# Model

Record = dict[str, Any]

KINDS = {str: "a text", dict: "an object", list: "a list"}


class ShapeError(ValueError):
    """A value of JSON is not what it should be."""


def person_of(value: Any) -> Record:
    """Take the person that a value of JSON holds, its keys in the order of the model."""
    person = checked(value, "person", dict)
    picture = person.get("picture")
    return {
        "id": checked(person.get("id"), "id", str),
        "name": texts(person.get("name"), "name", "title", "first", "last"),
        "gender": checked(person.get("gender"), "gender", str),
        "location": location_of(person.get("location")),
        "email": checked(person.get("email"), "email", str),
        "picture": None if picture is None else texts(picture, "picture", "large", "medium", "thumbnail"),
    }


def location_of(value: Any) -> Record:
    """Take a location."""
    location = texts(value, "location", "street", "city", "state")
    post_code = value.get("postCode")
    # A bool is an int, too.
    if type(post_code) is not int or not -(2**31) <= post_code < 2**31:
        raise ShapeError("`location.postCode` must be a whole number of 32 bits")
    location["postCode"] = post_code
    return location


def texts(value: Any, name: str, *fields: str) -> Record:
    """Take these fields of an object."""
    found = checked(value, name, dict)
    return {field: checked(found.get(field), f"{name}.{field}", str) for field in fields}


def checked(value: Any, name: str, kind: type) -> Any:
    """Take a value of a kind."""
    if not isinstance(value, kind):
        raise ShapeError(f"`{name}` must be {KINDS[kind]}")
    return value


# People file


class PeopleFile(NamedTuple):
    """What the people file holds."""

    persons: list[Record]
    # Places in the list of persons.
    links: list[tuple[int, int]]


def read_people(folder: str) -> PeopleFile:
    """Read the people file in a folder; raises an OSError or a ValueError where there is none."""
    file = checked(codec.read(Path(folder, "people.json").read_bytes()), "people.json", dict)
    persons: list[Record] = []
    for at, value in enumerate(checked(file.get("persons"), "persons", list)):
        try:
            persons.append(person_of(value))
            # Not every text can be written.
            codec.write(persons[-1])
        except ValueError as error:
            raise ShapeError(f"`persons[{at}]`: {error}") from None
    places = {person["id"]: at for at, person in enumerate(persons)}
    if len(places) < len(persons):
        raise ShapeError("two `persons` have the same id")
    links: list[tuple[int, int]] = []
    for at, ids in enumerate(checked(file.get("links"), "links", list)):
        match ids:
            case [int(p1), int(p2)] if str(p1) in places and str(p2) in places:
                links.append((places[str(p1)], places[str(p2)]))
            case _:
                raise ShapeError(f"`links[{at}]` must be the ids of two persons, as numbers")
    return PeopleFile(persons, links)


# Operations


class Messages(NamedTuple):
    """How the messages of a codec are made: a person of a record, the others of their fields by name."""

    person: Callable[[Record], Any]
    link: Callable[..., Any]
    person_list: Callable[..., Any]
    link_list: Callable[..., Any]


class People:
    """The persons and links of the people file, as messages of a codec. Each reply is a new message."""

    def __init__(self, file: PeopleFile, messages: Messages) -> None:
        """Make the messages that are kept."""
        self.messages = messages
        self.persons = [messages.person(person) for person in file.persons]
        ids = [person["id"] for person in file.persons]
        self.by_id = dict(zip(ids, self.persons, strict=True))
        self.links: dict[str, list[Any]] = {name: [] for name in ids}
        for p1, p2 in file.links:
            link = messages.link(p1=self.persons[p1], p2=self.persons[p2])
            for place in {p1, p2}:
                self.links[ids[place]].append(link)

    def list_persons(self) -> Any:
        """Give all persons."""
        return self.messages.person_list(persons=self.persons, count=len(self.persons))

    def get_person(self, name: str) -> Any:
        """Give the person with that id; None where there is none."""
        return self.by_id.get(name)

    def get_person_links(self, name: str) -> Any:
        """Give the links with that id on either side."""
        links = self.links.get(name, [])
        return self.messages.link_list(links=links, count=len(links))
