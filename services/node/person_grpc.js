// The workload person over gRPC: the operations of person.proto, with the messages that proto-loader makes of it.
import { fileURLToPath } from "node:url";
import { loadPackageDefinition, status } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { ReflectionService } from "@grpc/reflection";
import protobuf from "protobufjs/minimal.js";
import { NO_SUCH_PERSON } from "./person.js";

// The build puts it here.
const INTERFACE = fileURLToPath(new URL("person.proto", import.meta.url));

/** The client of the interface, which knows its operations. */
export function loadPeople() {
  return loadPackageDefinition(loadSync(INTERFACE, { defaults: true })).weighbridge.person.v1.People;
}

/** Offers the operations of the workload, and tells clients of them. */
export function register(server, { people }, version) {
  const { service } = loadPeople();
  for (const operation of Object.values(service)) {
    operation.requestDeserialize = strictly(operation.requestDeserialize);
  }
  server.addService(service, operations(people, version));
  // Clients are told the names that the file has.
  new ReflectionService(loadSync(INTERFACE, { keepCase: true })).addToServer(server);
}

/** Refuses a message that ends within a field: protobufjs takes what is there of a text for the whole. */
function strictly(deserialize) {
  return (bytes) => {
    const reader = protobuf.Reader.create(bytes);
    while (reader.pos < reader.len) {
      reader.skipType(reader.uint32() & 7);
    }
    return deserialize(bytes);
  };
}

function operations(people, version) {
  return {
    /** Answers all persons. */
    listPersons(_, callback) {
      callback(null, people.listPersons());
    },

    /** Answers the person with that id. */
    getPerson({ request: { id } }, callback) {
      const person = people.getPerson(id);
      if (person) {
        callback(null, person);
      } else {
        callback({ code: status.NOT_FOUND, details: NO_SUCH_PERSON });
      }
    },

    /** Answers the links with that id on either side. */
    getPersonLinks({ request: { id } }, callback) {
      callback(null, people.getPersonLinks(id));
    },

    /** Answers the person that was sent. */
    createPerson({ request: person }, callback) {
      callback(null, person);
    },

    /** Answers all persons, one message each. */
    streamPersons(call) {
      for (const person of people.persons) {
        call.write(person);
      }
      call.end();
    },

    /** Answers the text of GET /version. */
    version(_, callback) {
      callback(null, { text: version });
    },
  };
}
