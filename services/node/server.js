// The servers: routes, replies and connections of every workload, with node:http, node:http2 and grpc-js.
import { createServer } from "node:http";
import { createServer as createListener, isIPv6, Server as Listener } from "node:net";

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
function router(routes, version) {
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

// Servers: a listener, and what ends its connections once it takes no more. Only the one that is asked for is loaded.

/** The server of node:http for the routes of a workload. */
export function overHttp1(routes) {
  return async (configuration, version) => {
    const options = { keepAliveTimeout: 0, headersTimeout: 0, requestTimeout: 0 };
    const noDelay = configuration.nagle === "off" ? { noDelay: true } : {};
    const listener = createServer({ ...options, ...noDelay }, router(await routes(configuration), version));
    const outstanding = count(listener);
    return { listener, finish: () => closeIdle(outstanding) };
  };
}

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

/** Closes the connections on which no reply is outstanding; the others are closed behind theirs. */
function closeIdle(outstanding) {
  for (const [socket, replies] of outstanding) {
    if (replies === 0) {
      socket.destroySoon();
    }
  }
}

/** The server of node:http2, in clear text, for the routes of a workload. */
export function overHttp2(routes) {
  return async (configuration, version) => {
    const http2 = await import("node:http2");
    // By default a connection with more than 10 MB of replies under way takes no further request. grpc-js does the same.
    const options = { maxSessionMemory: Number.MAX_SAFE_INTEGER };
    const answer = router(routes(configuration), version);
    const listener = http2.createServer(options, (request, response) => {
      answer(request, response);
      // Of a request that nobody reads Node resets the stream behind the reply, even where its end is not sent yet.
      if (request.readableFlowing === null) {
        request.resume();
      }
    });
    const sessions = new Set();
    listener.on("session", (session) => {
      sessions.add(session);
      session.on("close", () => sessions.delete(session));
    });
    const finish = () => {
      for (const session of sessions) {
        session.close();
      }
    };
    return { listener, finish };
  };
}

/** The server of grpc-js for the operations of a workload, which the module that is loaded registers. */
export function overGrpc(load) {
  return async (configuration, version) => {
    const { Server, ServerCredentials } = await import("@grpc/grpc-js");
    const { register } = await load();
    const server = new Server();
    register(server, configuration, version);
    // Not `bindAsync`: that tells why it failed in a text only, and takes IPv4 where an IPv6 address is asked for.
    const connections = server.createConnectionInjector(ServerCredentials.createInsecure());
    const listener = createListener((socket) => connections.injectConnection(socket));
    return { listener, finish: () => server.tryShutdown(() => {}) };
  };
}

// Life

/** Takes nothing new, finishes what is outstanding until grace is over, and ends the process. */
function stop({ listener, finish }) {
  // Not the `close` of node:http: that destroys connections whose reply is made but not yet sent.
  Listener.prototype.close.call(listener, () => process.exit(0));
  setTimeout(() => process.exit(0), GRACE_MS);
  finish();
}

/** Listens, says so, serves; `failed` is told of an error, and whether it was listening by then. */
export function serve({ host, port }, server, failed) {
  const { listener } = server;
  listener.on("error", (error) => failed(error, listener.listening));
  // SIGTERM is caught before ready is said: from then on it may come at any time.
  process.on("SIGTERM", () => stop(server));
  listener.listen({ host, port, ipv6Only: isIPv6(host) }, () =>
    console.log(`ready ${listener.address().port}`),
  );
}
