// The workload ping: asks the peer for what it is asked for, with the client of node:http.
import { Agent, get } from "node:http";

// How often a request is repeated whose connection ended before a byte of the reply came.
const REPETITIONS = 3;

// Handlers

/** The handlers by the name of their path. Each asks the peer through one pool of connections. */
export function handlers(peer, reply, problem) {
  // Kept without limit: by default a pool keeps 256 idle connections.
  const agent = new Agent({
    keepAlive: true,
    maxFreeSockets: Number.POSITIVE_INFINITY,
  });
  const noReply = (response, error) => problem(response, 502, `the peer did not reply: ${error.message}`);

  /** Answers GET /ping/{n}: passes the peer's body on. */
  async function ping(response, size) {
    try {
      const { status, body } = await ask(agent, peer, size);
      if (status !== 200) {
        return problem(response, 502, `the peer replied with status ${status}`);
      }
      return reply(response, 200, "text/plain", body);
    } catch (error) {
      return noReply(response, error);
    }
  }

  /** Answers GET /mping/{n}: tells how long the peer took. */
  async function mping(response, size) {
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
      return reply(response, 200, "application/json", JSON.stringify(told));
    } catch (error) {
      return noReply(response, error);
    }
  }

  return Object.entries({ ping, mping });
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
