// The workload person over HTTP.
import { json } from "./codec.js";
import { NO_SUCH_PERSON, personOf } from "./person.js";
import { problem } from "./server.js";

/** The paths of the workload. */
export function routes({ people }) {
  /** Answers GET /person. */
  function listPersons() {
    return reply(people.listPersons());
  }

  /** Answers GET /person/{id}. */
  function getPerson({ parameters: [id] }) {
    const person = people.getPerson(id);
    return person ? reply(person) : problem(404, NO_SUCH_PERSON);
  }

  /** Answers GET /person/{id}/links. */
  function getPersonLinks({ parameters: [id] }) {
    return reply(people.getPersonLinks(id));
  }

  return [
    { method: "GET", pattern: "/person", handler: listPersons },
    { method: "POST", pattern: "/person", handler: createPerson },
    { method: "GET", pattern: "/person/{id}", handler: getPerson },
    { method: "GET", pattern: "/person/{id}/links", handler: getPersonLinks },
  ];
}

/** Answers POST /person with the person in its body. */
function createPerson({ headers, body }) {
  const [mediaType] = (headers["content-type"] ?? "").split(";", 1);
  if (mediaType.trim().toLowerCase() !== json.mediaType) {
    return problem(415, `the media type must be ${json.mediaType}`);
  }
  try {
    return reply(personOf(json.read(body)));
  } catch (error) {
    return problem(400, `the body is no person: ${error.message}`);
  }
}

/** A reply with a message. */
function reply(message) {
  return { status: 200, contentType: json.mediaType, body: json.write(message) };
}
