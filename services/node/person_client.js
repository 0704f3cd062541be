// The workload person-client: calls a peer over any protocol of the workload person, and tells how long that took.
import { json } from "./codec.js";
import { personOf } from "./person.js";
import { problem } from "./server.js";

/**
 * The paths of the workload. What the client of a protocol gives are its calls: each returns the promise of a message, and
 * of undefined where the reply is *not found*.
 */
export async function routes({ peer, client }) {
  const calls = await client(peer);

  /** Answers GET /call/listPersons. */
  function listPersons() {
    return timed(() => calls.listPersons(), addList);
  }

  /** Answers GET /call/getPerson/{id}. */
  function getPerson({ parameters: [id] }) {
    return timed(() => calls.getPerson(id), addPerson);
  }

  /** Answers GET /call/getPersonLinks/{id}. */
  function getPersonLinks({ parameters: [id] }) {
    return timed(() => calls.getPersonLinks(id), addLinkList);
  }

  /** Answers POST /call/createPerson: its body is decoded before the time begins. */
  function createPerson({ body }) {
    let person;
    try {
      person = personOf(json.read(body));
    } catch (error) {
      return problem(400, `the body is no person: ${error.message}`);
    }
    return timed(() => calls.createPerson(person), addPerson);
  }

  return [
    { method: "GET", pattern: "/call/listPersons", handler: listPersons },
    { method: "GET", pattern: "/call/getPerson/{id}", handler: getPerson },
    { method: "GET", pattern: "/call/getPersonLinks/{id}", handler: getPersonLinks },
    { method: "POST", pattern: "/call/createPerson", handler: createPerson },
  ];
}

/** Makes a call, adds every field of its reply to a digest, and tells how long both took. */
async function timed(call, add) {
  const digest = new Digest();
  try {
    const begin = process.hrtime.bigint();
    const message = await call();
    if (message === undefined) {
      digest.add("not found");
    } else {
      add(digest, message);
    }
    const duration = Number(process.hrtime.bigint() - begin);
    const told = { duration_ns: duration, calls: 1, digest: digest.hex() };
    return { status: 200, contentType: "application/json", body: JSON.stringify(told) };
  } catch (error) {
    return problem(502, `the peer gave no reply of this operation: ${error.message}`);
  }
}

// Fields, in the order of the model

function addPerson(digest, { id, name, gender, location, email, picture }) {
  digest.add(id, name.title, name.first, name.last, gender);
  digest.add(location.street, location.city, location.state, String(location.postCode));
  digest.add(email);
  if (picture) {
    digest.add(picture.large, picture.medium, picture.thumbnail);
  } else {
    digest.add("");
  }
}

function addList(digest, { persons, count }) {
  for (const person of persons) {
    addPerson(digest, person);
  }
  digest.add(String(count));
}

function addLinkList(digest, { links, count }) {
  for (const { p1, p2 } of links) {
    addPerson(digest, p1);
    addPerson(digest, p2);
  }
  digest.add(String(count));
}

/** FNV-1a, 64 bits, in two halves: a number of JavaScript has 53 bits, and BigInts take long. */
class Digest {
  #high = 0xcbf29ce4;
  #low = 0x84222325;

  /** Adds texts, each with its end. */
  add(...texts) {
    for (const text of texts) {
      for (const byte of Buffer.from(text)) {
        this.#addByte(byte);
      }
      this.#addByte(10);
    }
  }

  /** The multiplier, 0x100000001b3, is 2 to the power of 40, and 0x1b3. */
  #addByte(byte) {
    const low = (this.#low ^ byte) >>> 0;
    const product = low * 0x1b3;
    this.#high = (this.#high * 0x1b3 + Math.floor(product / 2 ** 32) + (low << 8)) >>> 0;
    this.#low = product >>> 0;
  }

  hex() {
    return [this.#high, this.#low].map((half) => half.toString(16).padStart(8, "0")).join("");
  }
}
