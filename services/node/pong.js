// The workload pingpong over HTTP.
import { problem } from "./server.js";

// Sizes of a body that the contract allows, in bytes.
const SMALLEST_BODY = 4;
const LARGEST_BODY = 100_000_000;

/** The paths of the workload. */
export function routes() {
  return [{ method: "GET", pattern: "/pong/{n}", handler: pong }];
}

/** Answers GET /pong/{n}. The body is made anew for each request. */
function pong({ parameters: [n] }) {
  const size = sizeOf(n);
  if (size === undefined) {
    return wrongSize();
  }
  const body = Buffer.alloc(size, "o");
  body.write("p");
  body.write("ng", size - 2);
  return { status: 200, contentType: "text/plain", body };
}

/** The size that a segment names, digits only and no leading zero; undefined where it is none that is allowed. */
export function sizeOf(text) {
  const size = /^(0|[1-9][0-9]*)$/.test(text) ? Number(text) : 0;
  return size >= SMALLEST_BODY && size <= LARGEST_BODY ? size : undefined;
}

/** Refuses any other size. */
export function wrongSize() {
  return problem(400, `the size must be a whole number from ${SMALLEST_BODY} to ${LARGEST_BODY}`);
}
