// The workload ping: asks the peer for what it is asked for, with the client of node:http.
import { Agent, get } from "node:http";
import { sizeOf, wrongSize } from "./pong.js";
import { problem } from "./server.js";

// How often a request is repeated whose connection ended before a byte of the reply came.
const REPETITIONS = 3;

// Handlers

/** The paths of the workload. Each handler asks the peer through one pool of connections. */
export function routes({ peer }) {
  // Kept without limit: by default a pool keeps 256 idle connections.
  const agent = new Agent({
    keepAlive: true,
    maxFreeSockets: Number.POSITIVE_INFINITY,
  });
  const noReply = (error) => problem(502, `the peer did not reply: ${error.message}`);

  /** Answers GET /ping/{n}: passes the peer's body on. */
  async function ping({ parameters: [n] }) {
    const size = sizeOf(n);
    if (size === undefined) {
      return wrongSize();
    }
    try {
      const { status, body } = await ask(agent, peer, size);
      if (status !== 200) {
        return problem(502, `the peer replied with status ${status}`);
      }
      return { status, contentType: "text/plain", body };
    } catch (error) {
      return noReply(error);
    }
  }

  /** Answers GET /mping/{n}: tells how long the peer took. */
  async function mping({ parameters: [n] }) {
    const size = sizeOf(n);
    if (size === undefined) {
      return wrongSize();
    }
    try {
      const begin = process.hrtime.bigint();
      const { status, body, retries } = await ask(agent, peer, size);
      const duration = Number(process.hrtime.bigint() - begin);
      const told = {
        duration_ns: duration,
        length: body.length,
        code: status,
        retries,
      };
      return { status: 200, contentType: "application/json", body: JSON.stringify(told) };
    } catch (error) {
      return noReply(error);
    }
  }

  return [
    { method: "GET", pattern: "/ping/{n}", handler: ping },
    { method: "GET", pattern: "/mping/{n}", handler: mping },
  ];
}

// Client

/** Asks for GET /pong/{n}, again where that is allowed. Rejects where no whole reply came. */
async function ask(agent, peer, size) {
  for (let retries = 0; ; retries += 1) {
    try {
      return { ...(await once(agent, peer, size)), retries };
    } catch (error) {
      if (!error.unanswered || retries === REPETITIONS) {
        throw error;
      }
    }
  }
}

/** Asks once. The error of a connection that ended before a byte of the reply came is `unanswered`. */
function once(agent, peer, size) {
  return new Promise((resolve, reject) => {
    const request = get({ ...peer, agent, path: `/pong/${size}` });
    let received = 0;
    request.on("socket", (socket) => {
      received = socket.bytesRead;
    });
    request.on("error", (error) => {
      error.unanswered = error.syscall !== "connect" && request.socket?.bytesRead === received;
      reject(error);
    });
    request.on("response", (response) => {
      const pieces = [];
      response.on("data", (piece) => pieces.push(piece));
      response.on("error", reject);
      response.on("end", () => resolve({ status: response.statusCode, body: Buffer.concat(pieces) }));
    });
  });
}
