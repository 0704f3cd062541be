// The Node service: the workloads pingpong and ping (ping.js) over http1-json, with node:http.
//
// It keeps the contract of services/README.md and holds nothing that it does not ask for: no cache of bodies, no log
// line per request, no tuning. README.md has why.
import { createServer } from "node:http";
import { isIP, isIPv6, Server as Listener } from "node:net";
import { handlers } from "./ping.js";

// Sizes of a body that the contract allows, in bytes.
const SMALLEST_BODY = 4;
const LARGEST_BODY = 100_000_000;

// How long outstanding requests may take after SIGTERM, in milliseconds; the contract allows 5 s in all.
const GRACE_MS = 4000;

const EXIT_BROKEN = 1;
const EXIT_CONFIGURATION = 2;
const EXIT_PORT_IN_USE = 3;

// Configuration

/** Ends the process with one line on stderr. */
function fail(code, message) {
  console.error(message);
  process.exit(code);
}

/** Ends the process because of a variable's value. */
function refuse(name, value, allowed) {
  fail(EXIT_CONFIGURATION, `\`${name}\` is ${JSON.stringify(value)}, allowed: ${allowed}`);
}

/** The value of a variable; the empty text counts as unset. */
function variable(name, unset) {
  return process.env[name] || unset;
}

/** The value of a variable that is one of several words. */
function choice(name, unset, words) {
  const value = variable(name, unset);
  if (!words.includes(value)) {
    refuse(name, value, words.map((word) => `\`${word}\``).join(", "));
  }
  return value;
}

/** A whole number as the contract writes it, digits only and no leading zero; undefined if the text is none. */
function number(text) {
  return /^(0|[1-9][0-9]*)$/.test(text) ? Number(text) : undefined;
}

/** The host and the port of an address such as `127.0.0.1:8080` or `[::1]:8080`; undefined if it is none. */
function address(text) {
  const [, ipv6, ipv4, digits] = /^(?:\[([^\]]+)\]|([^:]+)):([0-9]+)$/.exec(text) ?? [];
  const port = Number(digits);
  const host = isIP(ipv6) === 6 ? ipv6 : isIP(ipv4) === 4 ? ipv4 : undefined;
  return host && port >= 1 && port <= 65535 ? { host, port } : undefined;
}

/** Reads the environment. The first value that is wrong ends the process. */
function readConfiguration() {
  const host = variable("HOST", "127.0.0.1");
  if (isIP(host) === 0) {
    refuse("HOST", host, "an IP address");
  }
  const port = variable("PORT", "8080");
  if (!/^[0-9]+$/.test(port) || Number(port) > 65535) {
    refuse("PORT", port, "0 to 65535");
  }
  const workload = choice("WORKLOAD", "pingpong", ["pingpong", "ping"]);
  choice("PROTOCOL", "http1-json", ["http1-json"]);
  const peer = workload === "ping" ? address(variable("PEER", "")) : undefined;
  if (workload === "ping" && !peer) {
    refuse("PEER", variable("PEER", ""), "an IPv4 address, or an IPv6 one in brackets, `:` and 1 to 65535");
  }
  const nagle = choice("NAGLE", "off", ["off", "default"]);
  for (const name of ["TLS_CERT", "TLS_KEY", "DIRECT"]) {
    if (variable(name)) {
      refuse(name, variable(name), "nothing (not supported by this service)");
    }
  }
  return { host, port: Number(port), workload, peer, nagle };
}

// Handlers

/** Writes a whole reply with its length. */
function reply(response, status, contentType, body) {
  response.writeHead(status, {
    "Content-Type": contentType,
    "Content-Length": Buffer.byteLength(body),
  });
  response.end(body);
}

/** Replies with what was wrong, in JSON. */
function problem(response, status, text) {
  reply(response, status, "application/json", JSON.stringify({ error: text }));
}

/** Answers GET /pong/{n}. The body is made anew for each request. */
function pong(response, size) {
  const body = Buffer.alloc(size, "o");
  body.write("p");
  body.write("ng", size - 2);
  reply(response, 200, "text/plain", body);
}

/** Answers GET /version. */
function version(response) {
  reply(response, 200, "text/plain", versionText());
}

/** Answers every path that the contract does not name. */
function notFound(response) {
  problem(response, 404, "there is nothing at this path");
}

/** Answers every method but GET and HEAD on a known path. */
function methodNotAllowed(response) {
  response.setHeader("Allow", "GET, HEAD");
  problem(response, 405, "allowed here: GET and HEAD");
}

// Server

/** The segments of a path, percent-decoded; undefined if an escape is broken. */
function segments(url) {
  const [path] = url.split("?", 1);
  try {
    return path.slice(1).split("/").map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

/** Answers every request; `sized` has the handlers of the paths `/{name}/{n}` by name. */
function router(sized) {
  return (request, response) => {
    const path = segments(request.url);
    if (!path) {
      return problem(response, 400, "the path has an escape that is no UTF-8");
    }
    const isVersion = path.length === 1 && path[0] === "version";
    const handler = path.length === 2 ? sized.get(path[0]) : undefined;
    if (!handler && !isVersion) {
      return notFound(response);
    }
    if (request.method !== "GET" && request.method !== "HEAD") {
      return methodNotAllowed(response);
    }
    if (isVersion) {
      return version(response);
    }
    const size = number(path[1]);
    if (size === undefined || size < SMALLEST_BODY || size > LARGEST_BODY) {
      return problem(
        response,
        400,
        `the size must be a whole number from ${SMALLEST_BODY} to ${LARGEST_BODY}`,
      );
    }
    return handler(response, size);
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

/** Listens, says so, serves. */
function serve({ host, port, workload, peer, nagle }) {
  const sized = new Map(workload === "ping" ? handlers(peer, reply, problem) : [["pong", pong]]);
  const options = { keepAliveTimeout: 0, headersTimeout: 0, requestTimeout: 0 };
  const server = createServer(nagle === "off" ? { ...options, noDelay: true } : options, router(sized));
  const outstanding = count(server);
  server.on("error", (error) => {
    const place = `\`PORT\` ${port} on \`HOST\` ${host}`;
    if (server.listening) {
      fail(EXIT_BROKEN, error.message);
    }
    if (error.code === "EADDRINUSE") {
      fail(EXIT_PORT_IN_USE, `${place} is in use, choose another`);
    }
    fail(EXIT_CONFIGURATION, `${place} cannot be used: ${error.message}`);
  });
  // SIGTERM is caught before ready is said: from then on it may come at any time.
  process.on("SIGTERM", () => stop(server, outstanding));
  server.listen({ host, port, ipv6Only: isIPv6(host) }, () => console.log(`ready ${server.address().port}`));
}

// Main

/** What --version and /version answer. node:http is part of Node and bears its version; llhttp is its parser. */
function versionText() {
  const { node, llhttp } = process.versions;
  return `Node ${node} node:http ${node} llhttp ${llhttp}`;
}

const [argument, ...more] = process.argv.slice(2);
if (argument === undefined) {
  serve(readConfiguration());
} else if (argument === "--version" && more.length === 0) {
  console.log(versionText());
} else {
  fail(EXIT_CONFIGURATION, `argument ${JSON.stringify(argument)}, allowed: \`--version\` alone`);
}
