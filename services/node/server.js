// The server: routes, replies and connections of every workload, with node:http.
import { createServer } from "node:http";
import { isIPv6, Server as Listener } from "node:net";

// How long outstanding requests may take after SIGTERM, in milliseconds; the contract allows 5 s in all.
const GRACE_MS = 4000;

// Replies

/** A reply that says what was wrong, in JSON. */
export function problem(status, text, headers) {
  return { status, contentType: "application/json", body: JSON.stringify({ error: text }), headers };
}

/** Answers every path that the contract does not name. */
function notFound() {
  return problem(404, "there is nothing at this path");
}

/** Answers every method but these on a known path. */
function methodNotAllowed(methods) {
  const allow = methods.join(", ");
  return problem(405, `allowed here: ${allow}`, { Allow: allow });
}

/** Writes a whole reply with its length. */
function send(response, { status, contentType, body, headers }) {
  response.writeHead(status, {
    "Content-Type": contentType,
    "Content-Length": Buffer.byteLength(body),
    ...headers,
  });
  response.end(body);
}

// Router

/** What follows one segment of a path. */
class Node {
  segments = new Map();
  parameter = undefined;
  handlers = new Map();

  /** Adds a route to the tree of which this is the root. */
  add({ method, pattern, handler }) {
    let node = this;
    for (const segment of pattern.slice(1).split("/")) {
      if (segment.startsWith("{")) {
        node.parameter ??= new Node();
        node = node.parameter;
      } else {
        if (!node.segments.has(segment)) {
          node.segments.set(segment, new Node());
        }
        node = node.segments.get(segment);
      }
    }
    for (const name of method === "GET" ? ["GET", "HEAD"] : [method]) {
      node.handlers.set(name, handler);
    }
  }

  /** The end of a path of decoded segments; those that stand for parameters are put with these. */
  find(path, parameters) {
    let node = this;
    for (const segment of path) {
      const child = node.segments.get(segment);
      if (!child && node.parameter) {
        parameters.push(segment);
      }
      node = child ?? node.parameter;
      if (!node) {
        return undefined;
      }
    }
    return node;
  }
}

/** The segments of a path, percent-decoded; undefined if an escape is broken. */
function segments(url) {
  const [path] = url.split("?", 1);
  try {
    return path.slice(1).split("/").map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

/** The whole body of a request. */
async function bodyOf(request) {
  const pieces = [];
  for await (const piece of request) {
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/**
 * Answers every request by the routes of a workload, each a method, a pattern such as `/pong/{n}` and a handler; that of
 * GET answers HEAD too. A handler gets the method, the decoded parameters, the headers and, but for GET, the body, and
 * returns a reply or its promise.
 */
export function router(routes, version) {
  const root = new Node();
  for (const route of routes) {
    root.add(route);
  }
  root.add({
    method: "GET",
    pattern: "/version",
    handler: () => ({ status: 200, contentType: "text/plain", body: version }),
  });

  function route(request) {
    const path = segments(request.url);
    if (!path) {
      return problem(400, "the path has an escape that is no UTF-8");
    }
    const parameters = [];
    const handlers = root.find(path, parameters)?.handlers;
    if (!handlers?.size) {
      return notFound();
    }
    const { method, headers } = request;
    const handler = handlers.get(method);
    if (!handler) {
      return methodNotAllowed([...handlers.keys()]);
    }
    if (method === "GET" || method === "HEAD") {
      return handler({ method, parameters, headers });
    }
    return bodyOf(request).then((body) => handler({ method, parameters, headers, body }));
  }

  return (request, response) => {
    const reply = route(request);
    if (!(reply instanceof Promise)) {
      return send(response, reply);
    }
    // It is rejected where the client went away within the body.
    return reply.then(
      (made) => send(response, made),
      () => response.destroy(),
    );
  };
}

// Connections

/** Counts the replies that are outstanding on each connection, so that stopping knows the idle ones. */
function count(server) {
  const outstanding = new Map();
  server.on("request", ({ socket }, response) => {
    outstanding.set(socket, (outstanding.get(socket) ?? 0) + 1);
    response.on("close", () => {
      outstanding.set(socket, outstanding.get(socket) - 1);
      if (!server.listening && outstanding.get(socket) === 0) {
        socket.destroySoon();
      }
    });
  });
  server.on("connection", (socket) => socket.on("close", () => outstanding.delete(socket)));
  return outstanding;
}

/** Takes nothing new, finishes what is outstanding until grace is over, and ends the process. */
function stop(server, outstanding) {
  // Not `server.close`: that destroys connections whose reply is made but not yet sent.
  Listener.prototype.close.call(server, () => process.exit(0));
  setTimeout(() => process.exit(0), GRACE_MS);
  for (const [socket, replies] of outstanding) {
    if (replies === 0) {
      socket.destroySoon();
    }
  }
}

/** Listens, says so, serves; `failed` is told of an error, and whether it was listening by then. */
export function serve({ host, port, nagle }, answer, failed) {
  const options = { keepAliveTimeout: 0, headersTimeout: 0, requestTimeout: 0 };
  const server = createServer(nagle === "off" ? { ...options, noDelay: true } : options, answer);
  const outstanding = count(server);
  server.on("error", (error) => failed(error, server.listening));
  // SIGTERM is caught before ready is said: from then on it may come at any time.
  process.on("SIGTERM", () => stop(server, outstanding));
  server.listen({ host, port, ipv6Only: isIPv6(host) }, () => console.log(`ready ${server.address().port}`));
}
