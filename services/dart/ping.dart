/// The workload ping: passes requests on to a peer with dart:io's HttpClient.
library;

import 'dart:convert';
import 'dart:io';
import 'dart:typed_data';

import 'pong.dart' show sizeOf, wrongSize;
import 'server.dart';

/// How often a request is repeated where its connection ended before the reply.
const mostRetries = 3;

/// A reply that came whole, how often it was asked for again, and how long that
/// took in all, in ns.
typedef Answer = ({int status, Uint8List body, int retries, int duration});

/// The paths of the workload, with one client for all.
List<Route> routes(String peer) {
  final Ping(:ping, :mping) = Ping(peer);
  return [
    (method: 'GET', pattern: '/ping/{n}', handler: ping),
    (method: 'GET', pattern: '/mping/{n}', handler: mping),
  ];
}

/// Answers by asking a peer.
class Ping {
  Ping(this.peer);

  /// The peer as the environment names it.
  final String peer;

  final _client = HttpClient()
    ..findProxy = null
    ..autoUncompress = false
    ..idleTimeout = const Duration(days: 365);

  // Handlers

  /// Answers GET /ping/{n}: the body as it came from the peer.
  Future<Reply> ping(Request request) async {
    final size = sizeOf(request);
    if (size == null) return wrongSize();
    final answer = await _ask(size);
    if (answer == null) return noReply();
    if (answer.status != 200) {
      final text = 'the peer answered with status ${answer.status}';
      return Reply.problem(502, text);
    }
    return Reply(200, ContentType('text', 'plain'), answer.body);
  }

  /// Answers GET /mping/{n}: how asking the peer went.
  Future<Reply> mping(Request request) async {
    final size = sizeOf(request);
    if (size == null) return wrongSize();
    final answer = await _ask(size);
    if (answer == null) return noReply();
    final body = jsonEncode({
      'duration_ns': answer.duration,
      'length': answer.body.length,
      'code': answer.status,
      'retries': answer.retries,
    });
    return Reply(200, ContentType('application', 'json'), utf8.encode(body));
  }

  /// Answers where the peer is not there, or went away within its reply.
  Reply noReply() =>
      Reply.problem(502, 'no whole reply came from the peer $peer');

  // Client

  /// Asks the peer and reads the reply to its end; null where none came whole.
  Future<Answer?> _ask(int size) async {
    final url = Uri.parse('http://$peer/pong/$size');
    final time = Stopwatch()..start();
    for (var retries = 0; ; retries++) {
      var isAwaited = false;
      try {
        final request = await _client.getUrl(url);
        request.followRedirects = false;
        request.headers.removeAll(HttpHeaders.acceptEncodingHeader);
        isAwaited = true;
        final response = await request.close();
        isAwaited = false;
        final builder = BytesBuilder(copy: false);
        await response.forEach(builder.add);
        final body = builder.takeBytes();
        final duration = time.elapsedTicks * (1000000000 ~/ time.frequency);
        final status = response.statusCode;
        return (
          status: status,
          body: body,
          retries: retries,
          duration: duration,
        );
      } on IOException {
        if (!isAwaited || retries == mostRetries) return null;
      }
    }
  }
}
