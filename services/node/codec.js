// The codecs of the workload person over HTTP. That of gRPC is made of the interface: see person_grpc.js.

// By default what is no UTF-8 would be replaced.
const utf8 = new TextDecoder("utf-8", { fatal: true });

/** A codec writes a message, and reads bytes as a value; it throws where it cannot. */
export const json = {
  mediaType: "application/json",
  write: (message) => JSON.stringify(message),
  read: (bytes) => JSON.parse(utf8.decode(bytes)),
};
