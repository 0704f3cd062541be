/// The workload pingpong over HTTP.
library;

import 'dart:io';
import 'dart:typed_data';

import 'server.dart';

/// Sizes of a body that the contract allows, in bytes.
const smallestBody = 4;
const largestBody = 100000000;

/// The paths of the workload.
List<Route> routes(String _) => [
  (method: 'GET', pattern: '/pong/{n}', handler: pong),
];

/// Answers GET /pong/{n} with p, size - 3 times o, ng. The body is made anew
/// for each request.
Reply pong(Request request) {
  final size = sizeOf(request);
  if (size == null) return wrongSize();
  final body = Uint8List(size)..fillRange(0, size, 0x6f);
  body[0] = 0x70;
  body[size - 2] = 0x6e;
  body[size - 1] = 0x67;
  return Reply(200, ContentType('text', 'plain'), body);
}

/// The size that the path names; null where it is none that is allowed.
int? sizeOf(Request request) {
  final text = request.parameters.first;
  final isNumber = RegExp(r'^[1-9][0-9]{0,8}$').hasMatch(text);
  final size = isNumber ? int.parse(text) : 0;
  return size >= smallestBody && size <= largestBody ? size : null;
}

/// Refuses any other size.
Reply wrongSize() {
  const allowed = 'a whole number from $smallestBody to $largestBody';
  return Reply.problem(400, 'the size must be $allowed');
}
