// The calls of the workload person-client over gRPC, with the client that grpc-js makes of person.proto.
import { isIPv6 } from "node:net";
import { credentials, status } from "@grpc/grpc-js";
import { loadPeople } from "./person_grpc.js";

// README.md has why.
const OPTIONS = { "grpc.use_local_subchannel_pool": 1, "grpc.enable_http_proxy": 0 };

/** Calls over one channel. */
export function overGrpc({ host, port }) {
  const People = loadPeople();
  const address = `${isIPv6(host) ? `[${host}]` : host}:${port}`;
  const open = () => new People(address, credentials.createInsecure(), OPTIONS);
  let client = open();

  function call(operation, request) {
    const asked = client;
    return new Promise((resolve, reject) => {
      asked[operation](request, (error, reply) => {
        if (!error) {
          resolve(reply);
        } else if (error.code === status.NOT_FOUND) {
          resolve(undefined);
        } else {
          // A channel whose peer was not there fails calls at once for a second and more: the next one is made anew.
          if (error.code === status.UNAVAILABLE && client === asked) {
            client = open();
            asked.close();
          }
          reject(error);
        }
      });
    });
  }

  return {
    listPersons: () => call("listPersons", {}),
    getPerson: (id) => call("getPerson", { id }),
    getPersonLinks: (id) => call("getPersonLinks", { id }),
    createPerson: (person) => call("createPerson", person),
  };
}
