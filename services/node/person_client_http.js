// The calls of the workload person-client over HTTP, with the clients of node:http and node:http2.
import { Agent, request } from "node:http";
import { connect } from "node:http2";
import { isIPv6 } from "node:net";
import { json } from "./codec.js";

/** Calls over HTTP/1.1, through one pool of connections. */
export function overHttp1(peer) {
  const agent = new Agent({ keepAlive: true, maxFreeSockets: Number.POSITIVE_INFINITY });
  return callsBy((method, path, headers, body) => {
    const asked = request({ ...peer, agent, method, path, headers });
    return answer(asked, body, (told) => {
      asked.on("response", (response) => told(response.statusCode, response));
    });
  });
}

/** Calls over HTTP/2 in clear text, as streams of one connection. */
export function overHttp2({ host, port }) {
  const url = `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
  let session;
  return callsBy((method, path, headers, body) => {
    if (!session || session.closed || session.destroyed) {
      session = connect(url);
      // The streams tell of it.
      session.on("error", () => {});
    }
    const stream = session.request({ ":method": method, ":path": path, ...headers });
    return answer(stream, body, (told) => {
      stream.on("response", ({ ":status": status }) => told(status, stream));
    });
  });
}

/** Sends a request and reads its reply, of whose status and body `answered` is told. Rejects where none comes whole. */
function answer(asked, body, answered) {
  return new Promise((resolve, reject) => {
    const gone = () => reject(new Error("the connection ended"));
    asked.on("error", reject).on("close", gone);
    answered((status, response) => {
      const pieces = [];
      response.on("data", (piece) => pieces.push(piece));
      response.on("error", reject).on("aborted", gone);
      response.on("end", () => resolve({ status, body: Buffer.concat(pieces) }));
    });
    asked.end(body);
  });
}

/** The calls by the paths of the workload person. */
function callsBy(ask) {
  async function call(method, path, message) {
    const [headers, sent] = message ? [{ "content-type": json.mediaType }, json.write(message)] : [{}];
    const { status, body } = await ask(method, path, headers, sent);
    if (status !== 200 && status !== 404) {
      throw new Error(`its status is ${status}`);
    }
    return status === 200 ? json.read(body) : undefined;
  }

  return {
    listPersons: () => call("GET", "/person"),
    getPerson: (id) => call("GET", `/person/${encodeURIComponent(id)}`),
    getPersonLinks: (id) => call("GET", `/person/${encodeURIComponent(id)}/links`),
    createPerson: (person) => call("POST", "/person", person),
  };
}
