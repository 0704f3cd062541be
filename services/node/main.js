// The Node service, with node:http, node:http2 and grpc-js: configuration and life. server.js has the servers; each
// workload has its handlers in files of its own, and its lines in the table below.
//
// It keeps the contract of services/README.md and holds nothing that it does not ask for: no cache of bodies, no log
// line per request, no tuning. README.md has why.
import { createRequire } from "node:module";
import { isIP } from "node:net";
import { readPeople } from "./person.js";
import * as personClient from "./person_client.js";
import * as person from "./person_http.js";
import * as ping from "./ping.js";
import * as pong from "./pong.js";
import { overGrpc, overHttp1, overHttp2, serve } from "./server.js";

const EXIT_BROKEN = 1;
const EXIT_CONFIGURATION = 2;
const EXIT_PORT_IN_USE = 3;

/**
 * The workloads over each protocol, the defaults first; those that relay ask `PEER`, those that call it ask `PEER_PROTOCOL`
 * too, those that read files ask `DATA`.
 * What needs the libraries of gRPC is loaded only where it is asked for.
 */
const OFFERS = [
  { workload: "pingpong", protocol: "http1-json", server: overHttp1(pong.routes) },
  { workload: "ping", protocol: "http1-json", server: overHttp1(ping.routes), relays: true },
  { workload: "person", protocol: "http1-json", server: overHttp1(person.routes), reads: true },
  { workload: "person", protocol: "http2-json", server: overHttp2(person.routes), reads: true },
  { workload: "person", protocol: "grpc", server: overGrpc(() => import("./person_grpc.js")), reads: true },
  {
    workload: "person-client",
    protocol: "http1-json",
    server: overHttp1(personClient.routes),
    relays: true,
    calls: true,
  },
];

/** The protocols over which `PEER` is called, the default first, and the client of each. */
const CLIENTS = {
  "http1-json": async (peer) => (await import("./person_client_http.js")).overHttp1(peer),
  "http2-json": async (peer) => (await import("./person_client_http.js")).overHttp2(peer),
  grpc: async (peer) => (await import("./person_client_grpc.js")).overGrpc(peer),
};

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

/** The value of a variable that is one of several words, by default the first. */
function choice(name, words) {
  const value = variable(name, words[0]);
  if (!words.includes(value)) {
    refuse(name, value, words.map((word) => `\`${word}\``).join(", "));
  }
  return value;
}

/** The host and the port of an address such as `127.0.0.1:8080` or `[::1]:8080`; undefined if it is none. */
function address(text) {
  const [, ipv6, ipv4, digits] = /^(?:\[([^\]]+)\]|([^:]+)):([0-9]+)$/.exec(text) ?? [];
  const port = Number(digits);
  const host = isIP(ipv6) === 6 ? ipv6 : isIP(ipv4) === 4 ? ipv4 : undefined;
  return host && port >= 1 && port <= 65535 ? { host, port } : undefined;
}

/** Reads which workload is asked for, and over which protocol. */
function readOffer() {
  const workload = choice("WORKLOAD", [...new Set(OFFERS.map((offer) => offer.workload))]);
  const offers = OFFERS.filter((offer) => offer.workload === workload);
  const protocol = choice(
    "PROTOCOL",
    offers.map((offer) => offer.protocol),
  );
  return offers.find((offer) => offer.protocol === protocol);
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
  const offer = readOffer();
  const peer = offer.relays ? address(variable("PEER", "")) : undefined;
  if (offer.relays && !peer) {
    refuse("PEER", variable("PEER", ""), "an IPv4 address, or an IPv6 one in brackets, `:` and 1 to 65535");
  }
  const client = offer.calls ? CLIENTS[choice("PEER_PROTOCOL", Object.keys(CLIENTS))] : undefined;
  const nagle = choice("NAGLE", ["off", "default"]);
  for (const name of ["TLS_CERT", "TLS_KEY", "DIRECT"]) {
    if (variable(name)) {
      refuse(name, variable(name), "nothing (not supported by this service)");
    }
  }
  const people = offer.reads ? readData() : undefined;
  return { host, port: Number(port), offer, peer, client, nagle, people };
}

/** Reads the people file in the folder that `DATA` names. */
function readData() {
  const folder = variable("DATA", "");
  const allowed = "a folder with a people file, `people.json`";
  if (!folder) {
    refuse("DATA", folder, allowed);
  }
  try {
    return readPeople(folder);
  } catch (error) {
    // The parser of JSON quotes the text, line breaks too.
    return refuse("DATA", folder, `${allowed} (${error.message.replace(/\s+/g, " ")})`);
  }
}

// Main

/**
 * What --version and /version answer. node:http is part of Node and bears its version; llhttp and nghttp2 are the parsers
 * of HTTP/1.1 and of HTTP/2, gRPC's too.
 */
function versionText() {
  const { node, llhttp, nghttp2 } = process.versions;
  const grpc = createRequire(import.meta.url)("@grpc/grpc-js/package.json").version;
  return `Node ${node} node:http ${node} llhttp ${llhttp} nghttp2 ${nghttp2} @grpc/grpc-js ${grpc}`;
}

/** Listens, says so, serves. */
async function run(configuration) {
  const { host, port, offer } = configuration;
  const server = await offer.server(configuration, versionText());
  serve(configuration, server, (error, isListening) => {
    const place = `\`PORT\` ${port} on \`HOST\` ${host}`;
    if (isListening) {
      fail(EXIT_BROKEN, error.message);
    }
    if (error.code === "EADDRINUSE") {
      fail(EXIT_PORT_IN_USE, `${place} is in use, choose another`);
    }
    fail(EXIT_CONFIGURATION, `${place} cannot be used: ${error.message}`);
  });
}

const [argument, ...more] = process.argv.slice(2);
if (argument === undefined) {
  await run(readConfiguration());
} else if (argument === "--version" && more.length === 0) {
  console.log(versionText());
} else {
  fail(EXIT_CONFIGURATION, `argument ${JSON.stringify(argument)}, allowed: \`--version\` alone`);
}
