// The workload person: its model, the people file and the operations, whatever carries them.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { json } from "./codec.js";

// Model

/** The person that a value of JSON holds, its keys in the order of the model. Throws where it holds none. */
export function personOf(value) {
  const { id, name, gender, location, email, picture } = record(value, "person");
  return {
    id: text(id, "id"),
    name: nameOf(name),
    gender: text(gender, "gender"),
    location: locationOf(location),
    email: text(email, "email"),
    picture: picture === undefined || picture === null ? null : pictureOf(picture),
  };
}

function nameOf(value) {
  const { title, first, last } = record(value, "name");
  return {
    title: text(title, "name.title"),
    first: text(first, "name.first"),
    last: text(last, "name.last"),
  };
}

function locationOf(value) {
  const { street, city, state, postCode } = record(value, "location");
  return {
    street: text(street, "location.street"),
    city: text(city, "location.city"),
    state: text(state, "location.state"),
    postCode: int32(postCode, "location.postCode"),
  };
}

function pictureOf(value) {
  const { large, medium, thumbnail } = record(value, "picture");
  return {
    large: text(large, "picture.large"),
    medium: text(medium, "picture.medium"),
    thumbnail: text(thumbnail, "picture.thumbnail"),
  };
}

function record(value, place) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new TypeError(`\`${place}\` must be an object`);
  }
  return value;
}

function list(value, place) {
  if (!Array.isArray(value)) {
    throw new TypeError(`\`${place}\` must be a list`);
  }
  return value;
}

function text(value, place) {
  if (typeof value !== "string") {
    throw new TypeError(`\`${place}\` must be a text`);
  }
  return value;
}

function int32(value, place) {
  // The bits of another number are other bits.
  if (typeof value !== "number" || value !== (value | 0)) {
    throw new TypeError(`\`${place}\` must be a whole number of 32 bits`);
  }
  return value;
}

// People file

/** Reads the people file in a folder. Throws where there is none. */
export function readPeople(folder) {
  const file = record(json.read(readFileSync(join(folder, "people.json"))), "people.json");
  const persons = list(file.persons, "persons").map((value, at) => {
    try {
      return personOf(value);
    } catch (error) {
      throw new TypeError(`\`persons[${at}]\`: ${error.message}`);
    }
  });
  const byId = new Map(persons.map((person) => [person.id, person]));
  if (byId.size < persons.length) {
    throw new TypeError("two `persons` have the same id");
  }
  const links = list(file.links, "links").map((ids, at) => {
    const [p1, p2] = list(ids, `links[${at}]`).map((id) => byId.get(JSON.stringify(id)));
    if (ids.length !== 2 || !p1 || !p2) {
      throw new TypeError(`\`links[${at}]\` must be the ids of two persons, as numbers`);
    }
    return { p1, p2 };
  });
  return new People(persons, links);
}

// Operations

/** Why a person is not found. */
export const NO_SUCH_PERSON = "no person has this id";

/** The persons and links of the people file. Each reply is a new message, of the same persons. */
export class People {
  #byId = new Map();
  #links = new Map();

  constructor(persons, links) {
    this.persons = persons;
    for (const person of persons) {
      this.#byId.set(person.id, person);
      this.#links.set(person.id, []);
    }
    for (const link of links) {
      for (const person of new Set([link.p1, link.p2])) {
        this.#links.get(person.id).push(link);
      }
    }
  }

  listPersons() {
    return { persons: this.persons, count: this.persons.length };
  }

  /** The person with that id; undefined where there is none. */
  getPerson(id) {
    return this.#byId.get(id);
  }

  /** The links with that id on either side. */
  getPersonLinks(id) {
    const links = this.#links.get(id) ?? [];
    return { links, count: links.length };
  }
}
