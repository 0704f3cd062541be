/// The server of every workload: routes, replies and connections, with
/// dart:io.
library;

import 'dart:async';
import 'dart:convert';
import 'dart:io';
import 'dart:typed_data';

/// How long outstanding requests may take after SIGTERM; the contract allows
/// 5 s in all.
const grace = Duration(seconds: 4);

/// How often is looked whether they are done.
const look = Duration(milliseconds: 10);

// Replies

/// What a handler is asked: the decoded segments that its pattern has in
/// braces, the head and, but for GET, the body.
class Request {
  Request(this.parameters, this.head, this.body);

  final List<String> parameters;
  final HttpRequest head;
  final Uint8List? body;
}

/// A whole reply.
class Reply {
  Reply(this.status, this.type, this.body, {this.allow});

  /// What was wrong, in JSON.
  Reply.problem(int status, String text, {String? allow})
    : this(
        status,
        ContentType('application', 'json'),
        utf8.encode(jsonEncode({'error': text})),
        allow: allow,
      );

  final int status;
  final ContentType type;
  final Uint8List body;

  /// The methods of the path, where that of the request is none of them.
  final String? allow;
}

/// Writes a whole reply with its length.
Future<void> send(HttpRequest request, Reply reply) async {
  final response = request.response;
  response.statusCode = reply.status;
  response.headers.contentType = reply.type;
  response.contentLength = reply.body.length;
  final allow = reply.allow;
  if (allow != null) response.headers.set(HttpHeaders.allowHeader, allow);
  if (request.method != 'HEAD') response.add(reply.body);
  await response.close();
}

// Router

/// Answers a request.
typedef Handler = FutureOr<Reply> Function(Request request);

/// The handler of a method, on all paths of a pattern such as /pong/{n}; that
/// of GET answers HEAD too.
typedef Route = ({String method, String pattern, Handler handler});

/// What follows one segment of a path.
class _Node {
  final _segments = <String, _Node>{};
  final handlers = <String, Handler>{};
  _Node? _parameter;

  /// Adds a route to the tree of which this is the root.
  void add(Route route) {
    var node = this;
    for (final segment in route.pattern.split('/')) {
      node = segment.startsWith('{')
          ? node._parameter ??= _Node()
          : node._segments.putIfAbsent(segment, _Node.new);
    }
    node.handlers[route.method] = route.handler;
    if (route.method == 'GET') node.handlers['HEAD'] = route.handler;
  }

  /// The end of a path, null where there is none; its segments that stand for
  /// parameters are put with these.
  _Node? find(String path, List<String> parameters) {
    var node = this;
    for (final segment in path.split('/')) {
      final literal = node._segments[segment];
      final next = literal ?? node._parameter;
      if (next == null) return null;
      if (literal == null) parameters.add(_decoded(segment));
      node = next;
    }
    return node;
  }

  /// dart:io has decoded letters and digits; broken escapes stay as they are.
  static String _decoded(String segment) {
    if (!segment.contains('%')) return segment;
    try {
      return Uri.decodeComponent(segment);
    } on ArgumentError {
      return segment;
    } on FormatException {
      return segment;
    }
  }
}

/// Answers by the routes of a workload, and what is in every one.
class Router {
  Router(List<Route> routes, String version) {
    routes.forEach(_root.add);
    Reply answer(Request _) =>
        Reply(200, ContentType('text', 'plain'), utf8.encode(version));
    _root.add((method: 'GET', pattern: '/version', handler: answer));
  }

  final _root = _Node();

  Future<void> answer(HttpRequest request) async {
    final parameters = <String>[];
    final handlers = _root.find(request.uri.path, parameters)?.handlers;
    if (handlers == null || handlers.isEmpty) {
      const text = 'there is nothing at this path';
      return send(request, Reply.problem(404, text));
    }
    final handler = handlers[request.method];
    if (handler == null) {
      final allow = handlers.keys.join(', ');
      final text = 'allowed here: $allow';
      return send(request, Reply.problem(405, text, allow: allow));
    }
    final isRead = request.method != 'GET' && request.method != 'HEAD';
    final body = isRead ? await _bodyOf(request) : null;
    return send(request, await handler(Request(parameters, request, body)));
  }

  static Future<Uint8List> _bodyOf(HttpRequest request) async {
    final builder = BytesBuilder(copy: false);
    await request.forEach(builder.add);
    return builder.takeBytes();
  }
}

// Connections

/// Opens the listener. The library turns Nagle's algorithm off by itself.
Future<HttpServer> listen(InternetAddress host, int port) async {
  final server = await HttpServer.bind(host, port, v6Only: true);
  server.idleTimeout = null;
  return server;
}

/// Answers requests; one whose client is gone is nobody's trouble.
void serve(HttpServer server, Router router) {
  server.listen((request) {
    router
        .answer(request)
        .catchError((Object gone) {}, test: (error) => error is IOException);
  });
}

/// Answers what was begun with and ends the process.
Future<void> stop(HttpServer server) async {
  await server.close();
  final time = Stopwatch()..start();
  while (server.connectionsInfo().total > 0 && time.elapsed < grace) {
    await Future<void>.delayed(look);
  }
  exit(0);
}
